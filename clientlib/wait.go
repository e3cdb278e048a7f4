package clientlib

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
)

// The bounds of waiting.
const (
	defaultQueue     = 1024
	defaultQueueWait = 30 * time.Second
	looks            = 2           // calls of a kind that cannot go: so many end a round for it
	sweepEvery       = time.Second // a round looks at all calls so often
)

// waiting is the calls that wait because all that could take them is limited or full, or
// their tenant is at its cap. Callers wait in their own goroutines; whoever ends an attempt
// makes a round: it takes the next step of those who wait, in order, and hands it to them.
// Lock it before the client's lock, never after.
type waiting struct {
	most  int // negative: nobody waits
	limit time.Duration
	size  atomic.Int64 // of the queue, and 1 more while a call looks whether it has to wait

	mu      sync.Mutex // guards what follows
	queue   queue
	sweepAt int64       // µs
	dueAt   int64       // of the next round that time alone asks for, µs
	timer   *time.Timer // to it; nil: nobody has waited
}

func newWaiting(c Config) *waiting {
	return &waiting{most: cmp.Or(c.Queue, defaultQueue), limit: cmp.Or(c.QueueWait, defaultQueueWait), queue: newQueue()}
}

// Waiting is how many calls of a workload wait for an endpoint, and for how long the first
// of them has.
type Waiting struct {
	Workload string
	Count    int
	Oldest   time.Duration
}

// Waiting says which workloads have calls that wait, by name.
func (c *Client) Waiting() []Waiting {
	q, now := c.waiting, c.clock.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	found := map[string]Waiting{}
	for a, l := range q.queue.lanes {
		w := found[a.workload]
		w.Workload, w.Count = a.workload, w.Count+len(l.waiters)
		w.Oldest = max(w.Oldest, microseconds(now-l.waiters[0].since))
		found[a.workload] = w
	}
	var all []Waiting
	for _, w := range found {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Waiting) int { return strings.Compare(a.Workload, b.Workload) })
	return all
}

// advance is the call's next step. One that would be shed for now, or would pass others
// who wait for the same, waits.
func (c *Client) advance(ctx context.Context, call *call) (route.Step, error) {
	q := c.waiting
	if q.most < 0 {
		return c.step(call), nil
	}
	if q.size.Load() == 0 || call.attempts > 0 { // who was on its way goes first
		s := c.step(call)
		if saturated(s.Err) == nil {
			return s, nil
		}
	}
	began := c.clock.now()
	s, err := c.wait(ctx, call)
	call.waited += c.clock.now() - began
	return s, err
}

// saturated is the shed that waiting may end, or nil.
func saturated(err error) *ShedError {
	shed := shedOf(err)
	if shed == nil {
		return nil
	}
	switch shed.Kind {
	case route.ShedLimited, route.ShedFull, route.ShedTenantCap:
		return shed
	}
	return nil
}

// shedOf is the shed that an error is, or that kept a call from its next attempt; nil: none.
func shedOf(err error) *ShedError {
	if err == nil { // as of every step that sends: what follows allocates
		return nil
	}
	var shed *ShedError
	var end *EndError
	if errors.As(err, &end) {
		return end.Shed
	}
	errors.As(err, &shed)
	return shed
}

// hopeless says whether a shed is known to last beyond the end of a call's patience.
func hopeless(now int64, shed *ShedError, end int64) bool {
	attempts := shed.Counts[route.ReasonConcurrency] + shed.Counts[route.ReasonTenantCap] // which end whenever they do
	return shed.RetryAt >= end && (attempts == 0 || shed.RetryAt > now+sweepEvery.Microseconds())
}

// wait is the call's step once it has one, or why it waited in vain.
func (c *Client) wait(ctx context.Context, call *call) (route.Step, error) {
	w, s := c.enter(call, c.clock.deadline(ctx))
	if w == nil {
		return s, nil
	}
	timer := time.NewTimer(microseconds(w.end - w.since))
	defer timer.Stop()
	select {
	case <-w.ready:
	case <-timer.C:
		if c.leave(w) {
			return s, w.err
		}
	case <-ctx.Done():
		if c.leave(w) {
			return s, fmt.Errorf("%w: %w", context.Cause(ctx), w.err)
		}
	}
	return w.step, nil
}

// enter puts a call into the queue, unless it can go or may not wait: then it has a step.
// The first of those who ask the same tries once more here: an attempt that ended since
// found nobody waiting.
func (c *Client) enter(call *call, deadline int64) (*waiter, route.Step) {
	q, t := c.waiting, c.view.Load().terms
	q.mu.Lock()
	defer q.mu.Unlock()
	q.size.Add(1) // who ends an attempt from now on waits for the lock
	defer q.resize()
	now := c.clock.now()
	w := &waiter{call: call, ask: t.ask(call), tokens: call.request.tokens(), since: now}
	w.end = min(now+q.limit.Microseconds(), call.began+t.workloads[call.workload].total)
	w.deadline = min(w.end, cmp.Or(deadline, math.MaxInt64))
	l := q.queue.lanes[w.ask]
	if l != nil {
		w.err = l.waiters[0].err
	} else if s := c.step(call); saturated(s.Err) != nil {
		w.err = s.Err
	} else {
		return nil, s
	}
	shed := saturated(w.err)
	if hopeless(now, shed, w.deadline) {
		return nil, route.Step{Err: w.err}
	}
	if q.queue.count == 0 {
		q.sweepAt = now + sweepEvery.Microseconds()
		q.dueAt = q.sweepAt
	}
	q.queue.add(w)
	if l == nil {
		q.due(now, shed.RetryAt)
	}
	if q.queue.count > q.most {
		last := q.queue.last()
		q.queue.hand(last, route.Step{Err: last.err})
	}
	c.schedule(now)
	return w, route.Step{}
}

// leave ends the waiting of a call; false: it has its step.
func (c *Client) leave(w *waiter) bool {
	q := c.waiting
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.resize()
	return q.queue.remove(w)
}

func (q *waiting) resize() { q.size.Store(int64(q.queue.count)) }

// hold locks the queue if anybody waits: what is freed until handOver is for them.
func (q *waiting) hold() bool {
	if q.size.Load() == 0 {
		return false
	}
	q.mu.Lock()
	return true
}

// handOver makes a round after an attempt of a tenant has ended.
func (c *Client) handOver(held bool, tenant string) {
	q := c.waiting
	if held || q.hold() {
		defer q.mu.Unlock()
		q.queue.uncap(tenant)
		c.serve()
	}
}

// reconsider looks at all who wait, after a catalog has come.
func (c *Client) reconsider() {
	q := c.waiting
	if q.hold() {
		defer q.mu.Unlock()
		q.sweepAt = 0
		c.serve()
	}
}

// serve is a round: whoever can go is handed a step, in order, until so many of each kind
// could not. It is called with the queue locked.
func (c *Client) serve() {
	q, now := c.waiting, c.clock.now()
	most := looks
	if now >= q.sweepAt {
		most, q.sweepAt = math.MaxInt, now+sweepEvery.Microseconds()
	}
	q.dueAt = min(q.sweepAt, q.queue.begin(now, most))
	for w := q.queue.next(); w != nil; w = q.queue.next() {
		if now >= w.end { // its own timer is about to say so
			q.queue.hand(w, route.Step{Err: w.err})
			continue
		}
		s := c.step(w.call)
		shed := saturated(s.Err)
		if shed == nil || hopeless(now, shed, w.deadline) {
			q.queue.hand(w, s)
			continue
		}
		w.err = s.Err
		q.due(now, shed.RetryAt)
		capped := int64(0)
		if shed.Counts[route.ReasonTenantCap] > 0 {
			capped = shed.RetryAt
		}
		q.queue.refuse(w, capped)
	}
	q.resize()
	c.schedule(now)
}

// due has the next round not be later than that; 0 says nothing.
func (q *waiting) due(now, at int64) {
	if at > now {
		q.dueAt = min(q.dueAt, at)
	}
}

// schedule sets the timer to when time alone may let somebody go. It is called with the queue
// locked.
func (c *Client) schedule(now int64) {
	q := c.waiting
	if q.queue.count == 0 {
		if q.timer != nil {
			q.timer.Stop()
		}
		return
	}
	after := max(microseconds(q.dueAt-now), minWait)
	if q.timer == nil {
		q.timer = time.AfterFunc(after, func() { c.handOver(false, "") })
	} else {
		q.timer.Reset(after)
	}
}
