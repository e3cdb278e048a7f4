package sim

import (
	"errors"
	"math"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
)

// The library's bounds of waiting (clientlib/wait.go).
const (
	queueMost  = 1024
	queueWait  = 30 * second
	looks      = 2
	sweepEvery = second
)

// queue is a library's calls that wait because all that could take them is limited or full,
// or their tenant at its cap: by priority, then fairly among tenants by tokens, then as they
// came.
type queue struct {
	client   *client
	flows    []*flow
	clocks   [3]int64 // by priority: tokens handed on, as the last one that went counted them
	count    int
	came     uint64
	sweepAt  int64
	dueAt    int64
	refusals []pass // scratch: by workload
}

// flow is a tenant's calls.
type flow struct {
	tenant   string
	priority route.Priority
	taken    int64 // tokens
	calls    []*call
	passed   int // in this round
}

// waiting is what of a call its queue knows.
type waiting struct {
	flow     *flow
	came     uint64
	lasts    int64 // its waiting, until then
	deadline int64 // and its caller's own end, if that is sooner
	why      error
}

// pass counts the calls of a workload that could not go in a round.
type pass struct {
	spec *route.Workload
	n    int
}

// saturated is the shed that waiting may end, or nil.
func saturated(err error) *route.ShedError {
	if err == nil { // as of every step that sends: what follows takes time
		return nil
	}
	shed, _ := errors.AsType[*route.ShedError](err)
	if end, ok := errors.AsType[*route.EndError](err); ok {
		shed = end.Shed
	}
	if shed == nil {
		return nil
	}
	switch shed.Kind {
	case route.ShedLimited, route.ShedFull, route.ShedTenantCap:
		return shed
	}
	return nil
}

// hopeless tells whether a shed is known to last beyond the end of a call's patience.
func hopeless(now int64, shed *route.ShedError, end int64) bool {
	attempts := shed.Counts[route.ReasonConcurrency] + shed.Counts[route.ReasonTenantCap] // which end whenever they do
	return shed.RetryAt >= end && (attempts == 0 || shed.RetryAt > now+sweepEvery)
}

// advance takes the call's next step. One that would be shed for now, or would pass others
// who wait for the same, waits.
func (q *queue) advance(c *call) {
	if q.count > 0 && c.core.Attempts() == 0 { // who was on its way goes first
		if first := q.like(c); first != nil {
			c.why = first.why
			q.enter(c)
			return
		}
	}
	s := c.step()
	if saturated(s.Err) == nil {
		c.take(&s)
		return
	}
	c.why = s.Err
	q.enter(c)
}

// like is the first call that waits for the same, or nil.
func (q *queue) like(c *call) *call {
	f := q.find(c.arrival.Tenant)
	if f == nil {
		return nil
	}
	i := slices.IndexFunc(f.calls, func(o *call) bool { return o.spec == c.spec && o.core.Attempts() == 0 })
	if i < 0 {
		return nil
	}
	return f.calls[i]
}

func (q *queue) find(tenant string) *flow {
	for _, f := range q.flows {
		if f.tenant == tenant {
			return f
		}
	}
	return nil
}

// enter has a call wait, unless that is hopeless.
func (q *queue) enter(c *call) {
	now := c.world.now
	shed := saturated(c.why)
	c.lasts = min(now+queueWait, c.began+c.spec.Attempts.Total)
	c.deadline = c.lasts
	if c.arrival.Deadline > 0 {
		c.deadline = min(c.lasts, c.arrival.At+c.arrival.Deadline)
	}
	if hopeless(now, shed, c.deadline) {
		c.fail(c.why)
		return
	}
	if q.count == 0 {
		q.sweepAt = now + sweepEvery
		q.dueAt = q.sweepAt
	}
	q.add(c)
	q.due(shed.RetryAt)
	if q.count > queueMost {
		last := q.last()
		q.remove(last)
		last.fail(last.why)
	}
	q.schedule()
}

func (q *queue) add(c *call) {
	f := q.find(c.arrival.Tenant)
	if f == nil {
		f = &flow{tenant: c.arrival.Tenant, priority: c.world.rights.priority(c.arrival.Tenant)}
		q.flows = append(q.flows, f)
	}
	if len(f.calls) == 0 {
		f.taken = q.clocks[f.priority]
	}
	q.came++
	q.count++
	c.flow, c.came = f, q.came
	f.calls = append(f.calls, c)
	c.wait(queued, c.lasts)
}

// remove takes a call out.
func (q *queue) remove(c *call) {
	f := c.flow
	f.calls = slices.DeleteFunc(f.calls, func(o *call) bool { return o == c })
	c.flow = nil
	if q.count--; q.count == 0 {
		q.clocks = [3]int64{}
		q.schedule()
	}
}

// last is the newest call of the lowest priority.
func (q *queue) last() (last *call) {
	for _, f := range q.flows {
		if len(f.calls) == 0 {
			continue
		}
		c := f.calls[len(f.calls)-1]
		if last == nil || f.priority > last.flow.priority || f.priority == last.flow.priority && c.came > last.came {
			last = c
		}
	}
	return last
}

// freed makes a round after an attempt has ended.
func (q *queue) freed() {
	if q.count > 0 {
		q.round()
	}
}

// round hands their steps to those who can go, in order, until so many of each workload
// could not.
func (q *queue) round() {
	now, most := q.client.world.now, looks
	if now >= q.sweepAt {
		most, q.sweepAt = math.MaxInt, now+sweepEvery
	}
	q.dueAt = q.sweepAt
	for _, f := range q.flows {
		f.passed = 0
	}
	q.refusals = q.refusals[:0]
	for f := q.next(most); f != nil; f = q.next(most) {
		q.try(f)
	}
	q.schedule()
}

// try takes the step of a flow's first call that was not passed over.
func (q *queue) try(f *flow) {
	c, now := f.calls[f.passed], q.client.world.now
	s := c.step()
	shed := saturated(s.Err)
	if shed == nil || hopeless(now, shed, c.deadline) {
		if s.Kind == route.Send {
			f.taken += c.tokens()
			q.clocks[f.priority] = max(q.clocks[f.priority], f.taken)
		}
		q.remove(c)
		c.take(&s)
		return
	}
	c.why = s.Err
	q.due(shed.RetryAt)
	if shed.Counts[route.ReasonTenantCap] > 0 {
		f.passed = len(f.calls)
		return
	}
	f.passed++
	q.pass(c.spec).n++
}

func (c *call) tokens() int64 { return max(c.input+c.arrival.MaxOutput, 1) }

func (q *queue) pass(spec *route.Workload) *pass {
	for i := range q.refusals {
		if q.refusals[i].spec == spec {
			return &q.refusals[i]
		}
	}
	q.refusals = append(q.refusals, pass{spec: spec})
	return &q.refusals[len(q.refusals)-1]
}

// next is the flow whose turn it is, or nil.
func (q *queue) next(most int) (next *flow) {
	for _, f := range q.flows {
		for f.passed < len(f.calls) && q.pass(f.calls[f.passed].spec).n >= most {
			f.passed++
		}
		if f.passed < len(f.calls) && (next == nil || f.before(next)) {
			next = f
		}
	}
	return next
}

func (f *flow) before(o *flow) bool {
	c, d := f.calls[f.passed], o.calls[o.passed]
	turn, other := f.taken+c.tokens(), o.taken+d.tokens()
	switch {
	case f.priority != o.priority:
		return f.priority < o.priority
	case turn != other:
		return turn < other
	}
	return c.came < d.came
}

// due has the next round not be later than that; 0 says nothing.
func (q *queue) due(at int64) {
	if at > q.client.world.now {
		q.dueAt = min(q.dueAt, at)
	}
}

func (q *queue) schedule() {
	at := int64(forever)
	if q.count > 0 {
		at = max(q.dueAt, q.client.world.now+ms)
	}
	q.client.world.agenda.set(ofQueue, q.client.number, at)
}
