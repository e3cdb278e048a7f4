package route

import (
	"errors"
	"fmt"
	"slices"
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
	tenant   *tenant // nil: none is declared
	began    int64
	hash     uint32 // where it goes while a tier comes back

	attempts uint8
	same     uint8 // tries of the same endpoint in a row
	excluded uint8 // of tried
	open     bool  // an attempt is in flight
	content  bool
	repeat   bool  // the next attempt goes to the same endpoint, if it can
	decided  bool  // what follows the last attempt, and not before until
	from     int16 // the first tier that it may use, and of that the first band: one is above 0
	band     int16 // once it has escalated
	until    int64
	at       *learned // of the last attempt
	last     Outcome
	tried    [maxAttempts]uint32
	window   int64 // of the last attempt's endpoint, as it was then
	larger   int64 // tokens that the window must hold after an endpoint's did not
}

// Attempts is how many were sent.
func (c *Call) Attempts() int { return int(c.attempts) }

// Last is how the last attempt that ended did, as Settle judged it.
func (c *Call) Last() Outcome { return c.last }

func (c *Call) triedAt(l *learned) bool {
	for _, t := range c.tried[:c.excluded] {
		if t == l.number {
			return true
		}
	}
	return false
}

func (c *Call) exclude(l *learned) {
	if c.excluded < maxAttempts && !c.triedAt(l) {
		c.tried[c.excluded] = l.number
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

// Next decides the call's next step. The seed is fresh chance. A call that was shed may ask
// again later: nothing was spent.
func (r *Router) Next(now int64, seed uint32, c *Call) (s Step) {
	d := draws{seed: seed}
	r.chance = chance{seed: seed}
	w, err := r.find(c)
	if err != nil {
		return Step{Err: err}
	}
	spec := w.compiled.spec
	switch {
	case c.attempts == 0:
		if err := c.request.check(); err != nil {
			return Step{Err: fmt.Errorf("workload %q: %w", c.workload, err)}
		}
		c.hash = d.next()
	case !c.decided:
		if why, ends := r.again(now, &d, w, c); ends {
			return c.end(why, nil)
		}
	}
	if now < c.until {
		return Step{Kind: Wait, Until: c.until}
	}
	switch { // once more: a wait or a new catalog may have come between
	case now >= c.deadline(spec):
		return c.end(EndDeadline, nil)
	case c.attempts > 0 && int64(c.attempts) >= c.most(spec):
		return c.end(EndAttempts, nil)
	case c.attempts > 0 && !r.affords(now, w, c):
		return c.end(EndBudget, nil)
	}
	r.try(now, &d, w, c, &s)
	return s
}

// find returns what is kept of the call's workload.
func (r *Router) find(c *Call) (*work, error) {
	w := r.workOf(c.workload)
	if w == nil || w.compiled.spec.Unusable != "" || c.open {
		return nil, c.refusal(w)
	}
	return w, nil
}

// refusal says why the call has no next step, whatever else is.
func (c *Call) refusal(w *work) error {
	switch {
	case w == nil:
		return fmt.Errorf("workload %q: %w", c.workload, ErrUnknownWorkload)
	case w.compiled.spec.Unusable != "":
		return fmt.Errorf("workload %q: %w: %s", c.workload, ErrUnusable, w.compiled.spec.Unusable)
	}
	return errors.New("bug: Next while the call's attempt is in flight")
}

// workOf finds what is kept of a workload; one that was asked for lately by the same name is
// at hand.
func (r *Router) workOf(name string) *work {
	if name == "" {
		return nil
	}
	at := &r.lately[(int(name[len(name)-1])^len(name))%len(r.lately)]
	if w := *at; w != nil && w.compiled.spec.Name == name {
		return w
	}
	w := r.works[name]
	*at = w
	return w
}

// again decides whether a call whose attempt ended gets another one, where, and when at
// the earliest.
func (r *Router) again(now int64, d *draws, w *work, c *Call) (why End, ends bool) {
	if why, ends = c.ends(w.compiled); ends {
		return why, true
	}
	if !r.affords(now, w, c) {
		return EndBudget, true // before it waits for nothing
	}
	deadline := c.deadline(w.compiled.spec)
	c.repeat, c.until = c.repeats(now, w.compiled.spec), now
	if c.pauses() {
		pause := upTo(d.next(), min(backoffMost, backoffFirst<<min(c.attempts-1, 10)))
		floor := c.floor(now)
		if floor+pause >= deadline {
			c.repeat, floor = false, now // elsewhere nothing was asked for
		}
		c.until = floor + pause
	}
	if !c.repeat {
		c.exclude(c.at)
	}
	c.decided = true
	return EndDeadline, c.until >= deadline
}

// ends tells whether the last outcome was the call's last.
func (c *Call) ends(w *workload) (End, bool) {
	further := true
	switch c.last.Kind {
	case Faulted, TimedOut, Limited, Unauthorized, Missing, Unsent:
	case TooLong:
		further = c.enlarge(w)
	case Filtered:
		further = w.spec.FilterElsewhere
	case Invalid:
		further = w.spec.EscalateQuality && c.escalate(w)
	default:
		further = false
	}
	switch {
	case !further:
		return EndDone, true
	case c.content && !w.spec.Whole:
		return EndContent, true
	}
	return EndAttempts, int64(c.attempts) >= c.most(w.spec)
}

// enlarge asks for a larger window than the one that was too short, once; of a later band or
// tier if the workload says so.
func (c *Call) enlarge(w *workload) bool {
	if c.larger > 0 || c.window == 0 || w.spec.EscalateContext && c.from+c.band == 0 && !c.escalate(w) {
		return false
	}
	c.larger = c.window + 1
	return true
}

// escalate leaves the band of the last attempt and cheaper ones of its tier, else that tier,
// and those before it, once. An endpoint that left the catalog since has no tier.
func (c *Call) escalate(w *workload) bool {
	if c.from+c.band > 0 || c.at.leftAt > 0 {
		return false
	}
	tier := slices.IndexFunc(w.tiers, func(t []int32) bool { return slices.Contains(t, c.at.place) })
	if tier < 0 {
		return false
	}
	if band := w.further(tier, c.at.place); band > 0 {
		c.from, c.band = int16(tier), int16(band)
		return true
	}
	c.from = 1 + int16(tier)
	return int(c.from) < len(w.tiers)
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
	if int64(c.same) >= w.Attempts.SameEndpoint || c.last.RetryAfter > backoffMost {
		return false
	}
	if c.last.Kind == Limited { // what another call was told may hold the quota for longer
		return c.last.RetryAfter > 0 && c.at.cooledUntil() <= now+backoffMost+second
	}
	return c.last.Kind == Faulted
}

// pauses tells whether to back off: not from what load has no part in.
func (c *Call) pauses() bool {
	return c.last.Kind == Faulted || c.last.Kind == TimedOut || c.last.Kind == Limited
}

// floor is where the back-off begins: what the endpoint asked for binds at that endpoint.
func (c *Call) floor(now int64) int64 {
	switch {
	case !c.repeat:
		return now
	case c.last.Kind == Limited:
		return max(now, c.at.cooledUntil())
	}
	return now + c.last.RetryAfter
}

// end is the step of a call that gets no further attempt.
func (c *Call) end(why End, shed *ShedError) Step {
	return Step{Err: &EndError{Workload: c.workload, Why: why, Attempts: int(c.attempts), Last: c.last, Shed: shed}}
}

// try selects an endpoint and takes an attempt there.
func (r *Router) try(now int64, d *draws, w *work, c *Call, s *Step) {
	var a ask
	if !r.snapshot.static.ask(w.compiled, c, &a) {
		*s = c.shed(r.snapshot.static.forbid(w.compiled))
		return
	}
	p := r.pool(now, w, &a)
	r.measure(now, w, c)
	r.demand(now)
	r.choice.begin(now, d.seed, w, c)
	at, probe := nowhere, probe{}
	if r.probing() {
		at, probe = r.direct(now, w, p, c, false)
	}
	if at == nowhere && c.repeat {
		at = r.choice.found(WaySame, r.same(now, p, c))
	}
	if at == nowhere {
		if at = r.choose(now, d, p, c); at == nowhere {
			at = r.reach(now, d, p, c)
		}
	}
	if at == nowhere && r.probing() {
		at, probe = r.direct(now, w, p, c, true)
	}
	if probe.on() {
		r.choice.found(WayProbe, at)
	}
	if at == nowhere {
		*s = c.shed(r.explainShed(now, p, c))
		return
	}
	if c.attempts > 0 { // a first attempt goes where it is fastest, even if that is expected to be too slow
		if float64(c.deadline(w.compiled.spec)-now) <= r.expect(now, p, at, c.request.Input) {
			r.waive(r.current[at], probe)
			*s = c.end(EndDeadline, nil)
			return
		}
		w.budget.tokens -= c.cost()
	}
	c.decided = false
	m := r.member(w, at)
	r.send(now, p, &m, c, probe, s)
}

// same is the endpoint of the last attempt, when it is its turn again and passes every gate.
func (r *Router) same(now int64, p *pool, c *Call) int32 {
	if p.has(c.at) && r.gate(now, p, c.at.place, c) == Pass {
		return c.at.place
	}
	c.repeat = false
	c.exclude(c.at)
	return nowhere
}

// shed is the step when nothing is left: of a call that had attempts, the last one's
// outcome says more.
func (c *Call) shed(e *ShedError) Step {
	if c.attempts > 0 {
		return c.end(EndNoOther, e)
	}
	return Step{Err: e}
}
