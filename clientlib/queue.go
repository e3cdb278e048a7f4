package clientlib

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
)

// queue is the order of calls that wait for an endpoint: by their tenant's priority, then
// fairly among tenants by tokens, then as they came. Fair means that a tenant goes next
// whose tokens handed on, with those of its first call, are fewest; one that comes anew
// begins where the others are. It is deficit round robin with the smallest quantum.
//
// Calls that ask the same share a lane: where its first cannot go none of them can. Who is
// of a kind that cannot go is not asked again in a round, nor is a tenant at its cap.
type queue struct {
	lanes  map[ask]*lane
	kinds  map[kind]*group
	flows  map[flowKey]*flow
	clocks map[route.Priority]int64 // tokens handed on, as the last one that went counted them
	count  int
	came   uint64
	round  uint64
	most   int  // calls of a kind that cannot go in this round until it is over for it
	over   int  // kinds for which it is
	line   line // scratch: whose turn it is in this round
}

// kind is what decides which endpoints may take a call.
type kind struct {
	priority             route.Priority
	workload, api, needs string
	policy               string // what its tenant may have
	tried                string // endpoints, in a retry
	stream               bool
	window, output       int64 // how large it is, among what endpoints hold
}

// ask is a kind of a tenant's calls.
type ask struct {
	kind
	tenant string
	call   *call // that shares its lane with none
}

type lane struct {
	group   *group
	flow    *flow
	waiters []*waiter
}

// group is the lanes of a kind.
type group struct {
	lanes   int
	round   uint64
	refused int // in that round
}

// flow is a tenant's calls.
type flow struct {
	flowKey
	taken  int64   // tokens, on the clock of its priority
	lanes  []*lane // by their first calls, as they came
	passed int     // of lanes, in this round
	turn   int64   // taken, with the tokens of the first call that was not passed
	number uint64  // of that
	capped int64   // until then its tenant is at its cap, unless an attempt of it ends; µs
}

type flowKey struct {
	priority route.Priority
	tenant   string
}

// line is flows as a heap, by whose turn it is.
type line []*flow

// waiter is one call that waits.
type waiter struct {
	call     *call
	ask      ask
	tokens   int64
	number   uint64 // as they came
	since    int64
	end      int64 // µs, of its waiting
	deadline int64 // and its caller's own end, if that is sooner
	err      error // why it waits
	step     route.Step
	ready    chan struct{} // closed when it has its step
}

func newQueue() queue {
	return queue{lanes: map[ask]*lane{}, kinds: map[kind]*group{}, flows: map[flowKey]*flow{}, clocks: map[route.Priority]int64{}}
}

// add puts a call last in its lane.
func (q *queue) add(w *waiter) {
	q.came++
	q.count++
	w.number, w.ready = q.came, make(chan struct{})
	if l := q.lanes[w.ask]; l != nil {
		l.waiters = append(l.waiters, w)
		return
	}
	l := &lane{q.group(w.ask.kind), q.flow(flowKey{w.ask.priority, w.ask.tenant}), []*waiter{w}}
	l.group.lanes++
	l.flow.lanes = append(l.flow.lanes, l)
	q.lanes[w.ask] = l
}

func (q *queue) group(k kind) *group {
	g := q.kinds[k]
	if g == nil {
		g = &group{}
		q.kinds[k] = g
	}
	return g
}

func (q *queue) flow(k flowKey) *flow {
	f := q.flows[k]
	if f == nil {
		f = &flow{flowKey: k, taken: q.clocks[k.priority]}
		q.flows[k] = f
	}
	return f
}

// remove takes a call out; false: it was out already.
func (q *queue) remove(w *waiter) bool {
	l := q.lanes[w.ask]
	if l == nil {
		return false
	}
	at := slices.Index(l.waiters, w)
	if at < 0 {
		return false
	}
	q.count--
	if at == 0 {
		l.flow.drop(l)
	}
	l.waiters = slices.Delete(l.waiters, at, at+1)
	switch {
	case len(l.waiters) == 0:
		q.close(w.ask, l)
	case at == 0:
		l.flow.insert(l)
	}
	return true
}

// close takes a lane away in which nobody waits.
func (q *queue) close(a ask, l *lane) {
	delete(q.lanes, a)
	if l.group.lanes--; l.group.lanes == 0 {
		delete(q.kinds, a.kind)
	}
	if len(l.flow.lanes) == 0 {
		delete(q.flows, l.flow.flowKey)
	}
	if q.count == 0 {
		clear(q.clocks)
	}
}

func (l *lane) compare(o *lane) int { return cmp.Compare(l.waiters[0].number, o.waiters[0].number) }

func (f *flow) drop(l *lane) {
	at, _ := slices.BinarySearchFunc(f.lanes, l, (*lane).compare)
	f.lanes = slices.Delete(f.lanes, at, at+1)
}

func (f *flow) insert(l *lane) {
	at, _ := slices.BinarySearchFunc(f.lanes, l, (*lane).compare)
	f.lanes = slices.Insert(f.lanes, at, l)
}

// begin begins a round, and says when a tenant that it leaves out is below its cap by time
// alone.
func (q *queue) begin(now int64, most int) (due int64) {
	q.round++
	q.most, q.over, q.line, due = most, 0, q.line[:0], math.MaxInt64
	for _, f := range q.flows {
		if most < math.MaxInt && now < f.capped {
			due = min(due, f.capped)
			continue
		}
		f.passed = 0
		f.stand()
		q.line = append(q.line, f)
	}
	heap.Init(&q.line)
	return due
}

// uncap has the next round ask for a tenant that was at its cap.
func (q *queue) uncap(tenant string) {
	for p := range route.PriorityBatch + 1 {
		if f := q.flows[flowKey{p, tenant}]; f != nil {
			f.capped = 0
		}
	}
}

// refuse passes over a lane for this round, whose first could not go; of a tenant that is at its
// cap until a time, over all of them.
func (q *queue) refuse(w *waiter, capped int64) {
	l := q.lanes[w.ask]
	if l.flow.capped = capped; capped > 0 {
		l.flow.passed = len(l.flow.lanes)
		return
	}
	l.flow.passed++
	if l.group.round != q.round {
		l.group.round, l.group.refused = q.round, 0
	}
	if l.group.refused++; l.group.refused == q.most {
		q.over++
	}
}

// next is the call whose turn it is in this round, or nil. Since the last one only what
// was the first flow then has changed.
func (q *queue) next() *waiter {
	for len(q.line) > 0 && q.over < len(q.kinds) {
		f := q.line[0]
		for f.passed < len(f.lanes) && f.lanes[f.passed].group.over(q) {
			f.passed++
		}
		if f.passed == len(f.lanes) {
			heap.Pop(&q.line)
			continue
		}
		w := f.stand()
		if heap.Fix(&q.line, 0); q.line[0] == f {
			return w
		}
	}
	return nil
}

func (g *group) over(q *queue) bool { return g.round == q.round && g.refused >= q.most }

// stand notes when it is the turn of the first call that was not passed.
func (f *flow) stand() *waiter {
	w := f.lanes[f.passed].waiters[0]
	f.turn, f.number = f.taken+w.tokens, w.number
	return w
}

// Less tells whose turn comes before.
func (l line) Less(i, j int) bool {
	f, g := l[i], l[j]
	switch {
	case f.priority != g.priority:
		return f.priority < g.priority
	case f.turn != g.turn:
		return f.turn < g.turn
	}
	return f.number < g.number
}

func (l line) Len() int      { return len(l) }
func (l line) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *line) Push(f any)   { *l = append(*l, f.(*flow)) }
func (l *line) Pop() any {
	last := len(*l) - 1
	f := (*l)[last]
	*l = (*l)[:last]
	return f
}

// hand gives a call its step, with which it waits no longer.
func (q *queue) hand(w *waiter, s route.Step) {
	if f := q.lanes[w.ask].flow; s.Kind == route.Send {
		f.taken += w.tokens
		q.clocks[f.priority] = max(q.clocks[f.priority], f.taken)
	}
	q.remove(w)
	w.step = s
	close(w.ready)
}

// last is the newest call of the lowest priority.
func (q *queue) last() *waiter {
	var last *waiter
	for a, l := range q.lanes {
		w := l.waiters[len(l.waiters)-1]
		if last == nil || cmp.Or(cmp.Compare(a.priority, last.ask.priority), cmp.Compare(w.number, last.number)) > 0 {
			last = w
		}
	}
	return last
}
