package clientlib

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
)

// queue is the order of calls that wait for an endpoint: by their tenant's priority, then
// fairly among tenants by tokens, then as they came. Fair means that a tenant goes next
// whose tokens handed on, with those of its first call, are fewest; one that comes anew
// begins where the others are. It is deficit round robin with the smallest quantum.
//
// Calls that ask the same share a lane: where its first cannot go none of them can.
type queue struct {
	lanes  map[ask]*lane
	flows  map[flowKey]*flow
	clocks map[route.Priority]int64 // tokens handed on, as the last one that went counted them
	count  int
	came   uint64
	round  uint64
	looks  map[route.Priority]int // calls that could not go in this round
}

// ask is what decides which endpoints may take a call.
type ask struct {
	workload, tenant, api, needs string
	stream                       bool
	window, output               int   // how large it is, among what endpoints hold
	call                         *call // that was tried already: it asks for what it has not tried
}

type lane struct {
	flow    *flow
	waiters []*waiter
	refused uint64 // the round in which its first could not go
	retryAt int64  // when that may change, µs
}

// flow is a tenant's calls.
type flow struct {
	flowKey
	taken int64 // tokens, on the clock of its priority
	lanes int
	first *waiter // scratch: that may go in this round
}

type flowKey struct {
	priority route.Priority
	tenant   string
}

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
	return queue{lanes: map[ask]*lane{}, flows: map[flowKey]*flow{}, clocks: map[route.Priority]int64{}, looks: map[route.Priority]int{}}
}

// add puts a call last in its lane.
func (q *queue) add(w *waiter, p route.Priority) {
	l := q.lanes[w.ask]
	if l == nil {
		l = &lane{flow: q.flow(flowKey{p, w.ask.tenant})}
		l.flow.lanes++
		q.lanes[w.ask] = l
	}
	q.came++
	q.count++
	w.number, w.ready = q.came, make(chan struct{})
	l.waiters = append(l.waiters, w)
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
	l.waiters = slices.Delete(l.waiters, at, at+1)
	if len(l.waiters) > 0 {
		return true
	}
	delete(q.lanes, w.ask)
	if l.flow.lanes--; l.flow.lanes == 0 {
		delete(q.flows, l.flow.flowKey)
	}
	return true
}

// begin begins a round.
func (q *queue) begin() {
	q.round++
	clear(q.looks)
}

// refuse passes over a lane for this round.
func (q *queue) refuse(w *waiter, retryAt int64) {
	l := q.lanes[w.ask]
	l.refused, l.retryAt = q.round, retryAt
	q.looks[l.flow.priority]++
}

// next is the first call of those whose lane was not refused in this round, while fewer of
// its priority were; or nil.
func (q *queue) next(most int) *waiter {
	for _, f := range q.flows {
		f.first = nil
	}
	for _, l := range q.lanes {
		w := l.waiters[0]
		if l.refused != q.round && (l.flow.first == nil || w.number < l.flow.first.number) {
			l.flow.first = w
		}
	}
	var best *flow
	for _, f := range q.flows {
		if f.first != nil && q.looks[f.priority] < most && (best == nil || f.before(best)) {
			best = f
		}
	}
	if best == nil {
		return nil
	}
	return best.first
}

func (f *flow) before(o *flow) bool {
	return cmp.Or(
		cmp.Compare(f.priority, o.priority),
		cmp.Compare(f.taken+f.first.tokens, o.taken+o.first.tokens),
		cmp.Compare(f.first.number, o.first.number),
	) < 0
}

// hand gives a call its step, with which it waits no longer.
func (q *queue) hand(w *waiter, s route.Step) {
	if f := q.lanes[w.ask].flow; s.Kind == route.Send {
		f.taken += w.tokens
		q.clocks[f.priority] = max(q.clocks[f.priority], f.taken)
	}
	q.remove(w)
	if q.count == 0 {
		clear(q.clocks)
	}
	w.step = s
	close(w.ready)
}

// last is the newest call of the lowest priority.
func (q *queue) last() *waiter {
	var last *waiter
	var lowest route.Priority
	for _, l := range q.lanes {
		w := l.waiters[len(l.waiters)-1]
		if last == nil || l.flow.priority > lowest || l.flow.priority == lowest && w.number > last.number {
			last, lowest = w, l.flow.priority
		}
	}
	return last
}

// terms are what the library itself needs of a catalog. They never change.
type terms struct {
	whole            map[string]bool // workloads whose streams are held to their end
	priorities       map[string]route.Priority
	totals           map[string]int64 // µs that a call may take, by workload
	windows, outputs []int64          // that endpoints hold
}

func termsOf(c *route.Catalog) *terms {
	t := &terms{whole: map[string]bool{}, priorities: map[string]route.Priority{}, totals: map[string]int64{}}
	for i := range c.Tenants {
		t.priorities[c.Tenants[i].Name] = c.Tenants[i].Priority
	}
	for i := range c.Workloads {
		w := &c.Workloads[i]
		t.whole[w.Name], t.totals[w.Name] = w.Whole, w.Attempts.Total
	}
	for i := range c.Endpoints {
		t.windows = append(t.windows, c.Endpoints[i].ContextWindow)
		t.outputs = append(t.outputs, c.Endpoints[i].MaxOutputTokens)
	}
	slices.Sort(t.windows)
	slices.Sort(t.outputs)
	return t
}

// defaultTenant is what an unnamed one is called.
const defaultTenant = "default"

func (t *terms) ask(c *call) ask {
	r := &c.request
	a := ask{
		workload: c.workload, tenant: cmp.Or(r.Tenant, defaultTenant), api: r.API, needs: strings.Join(r.Needs, ","), stream: r.Stream,
	}
	a.window, _ = slices.BinarySearch(t.windows, r.Input+max(r.MaxOutput, 1))
	a.output, _ = slices.BinarySearch(t.outputs, r.MaxOutput)
	if c.attempts > 0 {
		a.call = c
	}
	return a
}

// tokens is what a request counts for.
func (r *Request) tokens() int64 {
	const most = 1 << 40 // as the core counts them
	return max(min(max(r.Input, 0), most)+min(max(r.MaxOutput, 0), most), 1)
}
