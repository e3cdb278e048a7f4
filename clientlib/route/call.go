package route

import (
	"errors"
	"fmt"
)

const (
	maxAttempts        = 16         // of one call, whatever its workload says
	backoffFirst int64 = 100_000    // U(0, min(2 s, 100 ms·2^k))
	backoffMost        = 2 * second // and the longest Retry-After that the same endpoint is waited for
)

// Call is one request on its way: its attempts, what it may still try, and where.
// Begin makes it; between the first Next and the last Settle it must not be copied.
type Call struct {
	workload string
	request  Request
	began    int64
	hash     uint32 // where it goes while a tier comes back

	attempts int64
	same     int64 // tries of the same endpoint in a row
	open     bool  // an attempt is in flight
	content  bool
	last     Outcome
	at       *learned // of the last attempt
	tried    [maxAttempts]*learned
	excluded int

	repeat  bool // the next attempt goes to the same endpoint, if it can
	waiting bool
	until   int64
	larger  int64 // tokens that the window must hold after an endpoint's did not
}

// Attempts is how many were sent.
func (c *Call) Attempts() int { return int(c.attempts) }

func (c *Call) triedAt(l *learned) bool {
	for _, t := range c.tried[:c.excluded] {
		if t == l {
			return true
		}
	}
	return false
}

func (c *Call) exclude(l *learned) {
	if c.excluded < maxAttempts && !c.triedAt(l) {
		c.tried[c.excluded] = l
		c.excluded++
	}
}

// deadline is the end of the caller's patience and of the workload's.
func (c *Call) deadline(w *Workload) int64 {
	d := c.began + w.Attempts.Total
	if c.request.Deadline > 0 {
		d = min(d, c.request.Deadline)
	}
	return d
}

// Next decides the call's next step. The seed is fresh chance.
func (r *Router) Next(now int64, seed uint32, c *Call) Step {
	d := draws{seed: seed}
	r.chance = chance{seed: seed}
	w, err := r.find(c)
	if err != nil {
		return Step{Err: err}
	}
	spec := w.compiled.spec
	switch {
	case c.attempts == 0:
		c.hash = d.next()
	case c.waiting && now < c.until:
		return Step{Kind: Wait, Until: c.until}
	case !c.waiting:
		if step, stop := r.again(now, &d, w, c); stop {
			return step
		}
	}
	c.waiting = false
	if now >= c.deadline(spec) {
		return c.end(EndDeadline, nil)
	}
	if c.attempts > 0 && !r.affords(now, w, c) {
		return c.end(EndBudget, nil)
	}
	return r.try(now, &d, w, c)
}

// find returns what is kept of the call's workload.
func (r *Router) find(c *Call) (*work, error) {
	w := r.works[c.workload]
	switch {
	case w == nil:
		return nil, fmt.Errorf("workload %q: %w", c.workload, ErrUnknownWorkload)
	case w.compiled.spec.Unusable != "":
		return nil, fmt.Errorf("workload %q: %w: %s", c.workload, ErrUnusable, w.compiled.spec.Unusable)
	case c.open:
		return nil, errors.New("bug: Next while the call's attempt is in flight")
	}
	return w, nil
}

// again decides whether a call whose attempt ended gets another one, and when.
func (r *Router) again(now int64, d *draws, w *work, c *Call) (step Step, stop bool) {
	spec := w.compiled.spec
	if why, ends := c.ends(spec); ends {
		return c.end(why, nil), true
	}
	if !r.affords(now, w, c) {
		return c.end(EndBudget, nil), true // before it waits for nothing
	}
	c.repeat = c.repeats(now, spec)
	if !c.repeat {
		c.exclude(c.at)
	}
	c.until = now
	if floor, pause := c.pause(now); pause {
		c.until = floor + upTo(d.next(), min(backoffMost, backoffFirst<<min(c.attempts-1, 10)))
	}
	if c.until >= c.deadline(spec) {
		return c.end(EndDeadline, nil), true
	}
	c.waiting = c.until > now
	return Step{Kind: Wait, Until: c.until}, c.waiting
}

// ends tells whether the last outcome was the call's last.
func (c *Call) ends(w *Workload) (End, bool) {
	switch c.last.Kind {
	case Faulted, TimedOut, Limited, Unauthorized, Missing, Unsent:
	case TooLong:
		window := c.at.facts.endpoint.ContextWindow
		if c.larger > 0 || window == 0 {
			return EndDone, true
		}
		c.larger = window + 1
	case Filtered:
		if !w.FilterElsewhere {
			return EndDone, true
		}
	default:
		return EndDone, true
	}
	if c.content && !w.Whole {
		return EndContent, true
	}
	return EndAttempts, c.attempts >= c.most(w)
}

// most is how many attempts the call gets.
func (c *Call) most(w *Workload) int64 {
	n := min(w.Attempts.Max, maxAttempts)
	if c.request.Attempts > 0 {
		n = min(n, c.request.Attempts)
	}
	return n
}

// affords tells whether a retry token is left.
func (r *Router) affords(now int64, w *work, c *Call) bool {
	w.budget.refill(now, w.compiled.spec)
	return w.budget.affords(c.cost(), r.retryFactor(now, c.workload))
}

func (c *Call) cost() float64 {
	if c.last.Kind == TimedOut {
		return timeoutCost
	}
	return 1
}

// repeats tells whether the same endpoint is tried first: its caches are warm.
func (c *Call) repeats(now int64, w *Workload) bool {
	if c.same >= w.Attempts.SameEndpoint || c.last.RetryAfter > backoffMost {
		return false
	}
	if c.last.Kind == Limited { // what another call was told may hold the quota for longer
		return c.last.RetryAfter > 0 && c.at.quota.until <= now+backoffMost+coolSpread
	}
	return c.last.Kind == Faulted
}

// pause tells whether to back off, and from when at the earliest.
func (c *Call) pause(now int64) (floor int64, pause bool) {
	switch c.last.Kind {
	case Faulted, TimedOut, Limited:
	default:
		return now, false // load has no part in it
	}
	if !c.repeat {
		return now, true
	}
	if c.last.Kind == Limited {
		return max(now, c.at.quota.until), true
	}
	return now + c.last.RetryAfter, true
}

// end is the step of a call that gets no further attempt.
func (c *Call) end(why End, shed *ShedError) Step {
	return Step{Err: &EndError{Workload: c.workload, Why: why, Attempts: int(c.attempts), Last: c.last, Shed: shed}}
}

// try selects an endpoint and takes an attempt there.
func (r *Router) try(now int64, d *draws, w *work, c *Call) Step {
	a, allowed := r.snapshot.static.ask(w.compiled, c)
	if !allowed {
		return c.shed(r.snapshot.static.forbid(w.compiled))
	}
	p := r.pool(now, w, &a)
	m, probe := r.direct(now, w, p, c, false)
	if m == nil {
		m = r.same(now, p, c)
	}
	if m == nil {
		m = r.choose(now, d, p, c)
	}
	if m == nil {
		m, probe = r.direct(now, w, p, c, true)
	}
	if m == nil {
		return c.shed(r.explainShed(now, p, c))
	}
	if c.attempts > 0 {
		if float64(c.deadline(w.compiled.spec)-now) <= r.expect(now, p, m, c.request.Input) {
			r.waive(m.learned, probe)
			return c.end(EndDeadline, nil)
		}
		w.budget.tokens -= c.cost()
	}
	return r.send(now, p, m, c, probe)
}

// same is the endpoint of the last attempt, when it is its turn again and passes every gate.
func (r *Router) same(now int64, p *pool, c *Call) *member {
	if !c.repeat {
		return nil
	}
	if m := p.member(c.at); m != nil && m.share > 0 && r.gate(now, p, m, c) == Pass {
		return m
	}
	c.repeat = false
	c.exclude(c.at)
	return nil
}

// shed is the step when nothing is left: of a call that had attempts, the last one's
// outcome says more.
func (c *Call) shed(e *ShedError) Step {
	if c.attempts > 0 {
		return c.end(EndNoOther, e)
	}
	return Step{Err: e}
}
