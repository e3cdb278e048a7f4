package route

import (
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	credentialOut = 60 * second  // after 401, 403 or no credit
	endpointOut   = 300 * second // after "no such model"; a changed endpoint is tried at once
	mostWait      = 1 << 50      // µs: of what stands for a wait, which may be any number
)

// FirstToken marks the first generated event, reasoning included. False: stale, or marked
// before.
func (r *Router) FirstToken(now int64, a Attempt) bool {
	s := r.at(now, a)
	if s == nil {
		return false
	}
	if s.firstAt > 0 {
		r.event(Event{Kind: EventStale, At: now, Endpoint: s.endpoint.Name})
		return false
	}
	s.firstAt = now
	s.policyAt = s.lostAt // what passes from now on is a stall or the whole call
	r.due[a.slot] = s.lostAt
	s.prefilled(now)
	r.answered(int32(a.slot), s)
	r.admit(now, s, now-s.started)
	return true
}

// Content marks that part of the answer reached the caller: nothing else may answer it now.
func (r *Router) Content(now int64, a Attempt) bool {
	s := r.at(now, a)
	if s == nil {
		return false
	}
	s.call.content = true
	return true
}

// Settle ends an attempt, exactly once: false is a stale one, and nothing moved.
func (r *Router) Settle(now int64, a Attempt, o Outcome) bool {
	s := r.at(now, a)
	if s == nil {
		return false
	}
	r.settle(now, int32(a.slot), s, &o)
	return true
}

// Abandon ends an attempt of which nothing is known. Deferred after Settle it is a no-op
// without an event.
func (r *Router) Abandon(now int64, a Attempt) bool {
	return r.inFlight(a) != nil && r.Settle(now, a, Outcome{})
}

func (r *Router) settle(now int64, id int32, s *slot, o *Outcome) {
	if o.Kind == TimedOut && s.blameless(now) {
		o.Kind = Cancelled
	}
	r.mark(s, r.learn(now, s, o))
	if o.HasUsage {
		cost := &s.tally.cost[s.combination()]
		*cost = cost.Plus(s.cost(o.Usage))
	}
	r.refund(now, s, o)
	if s.local || s.permit != nil {
		r.waive(s.learned, s.probe())
	}
	s.call.open, s.call.last = false, *o
	if o.Kind == TooLong {
		s.call.window = s.endpoint.ContextWindow
	}
	r.uncount(now, id, s)
	s.serial, s.call, s.permit = 0, nil, nil // what is left is written at the next
	s.firstAt, s.ttftLimit = 0, 0
	r.due[id] = forever
	r.free = append(r.free, id)
}

// blameless is an endpoint when the caller's deadline passed before any limit of the workload's.
func (s *slot) blameless(now int64) bool {
	deadline := s.call.request.Deadline
	return deadline > 0 && now >= deadline && now < s.policyAt
}

// learn does what the table of outcomes in decision-core.md says.
func (r *Router) learn(now int64, s *slot, o *Outcome) (result mark) {
	result = excluded
	switch o.Kind {
	case Served:
		result = r.served(now, s, o)
	case Faulted, TimedOut:
		result = r.failed(now, s, o)
	case Invalid:
		r.judge(now, s, breaker.Sample{Phase: breaker.Quality, Failed: true})
		s.learned.success.add(now, 0)
		s.sample(now, s.delay(now, s.usage(o)))
		result = invalid
	case Limited:
		r.cool(now, s, o.RetryAfter)
		return limited
	case Unauthorized:
		e := Event{Kind: EventCredentialOut, Endpoint: s.endpoint.Name, Name: s.endpoint.Credential, Reason: o.Detail}
		r.out(now, &s.learned.credential.until, now+credentialOut, e)
	case Missing:
		r.out(now, &s.learned.outUntil, now+endpointOut, Event{Kind: EventEndpointOut, Endpoint: s.endpoint.Name, Reason: o.Detail})
	case Cancelled:
		if s.firstAt == 0 {
			s.censored(now)
		}
	}
	if s.outdated() {
		return excluded
	}
	return result
}

func (r *Router) served(now int64, s *slot, o *Outcome) mark {
	used := s.usage(o)
	took := s.delay(now, used)
	if s.firstAt == 0 {
		r.admit(now, s, int64(took.ttft))
	}
	if s.succeed(now, breaker.Finish, breaker.NoPace) {
		r.chance.k++
	} else {
		r.judge(now, s, breaker.Sample{Phase: breaker.Finish})
	}
	r.verdict(s, breaker.Finish, true)
	s.tally.work.recall(s, o)
	s.learned.success.add(now, 1)
	warm := !s.learned.cold
	s.sample(now, took)
	w := s.tally.work
	if o.HasUsage {
		if warm {
			s.tally.waited += int64(min(took.ttft, mostWait))
			s.tally.explained += prefill(used.uncached)
		}
		s.tally.worked += prefill(tokens(o.Usage.Input-o.Usage.Cached)) + tpot*used.output
		s.tally.busy += now - s.started
		if !o.Estimated {
			w.output.learn(now, used.output)
		}
	}
	w.budget.earn(w.compiled.spec.Attempts.RetryRatio, w.compiled.spec)
	return finished
}

// failed counts a hard failure in the half that it belongs to.
func (r *Router) failed(now int64, s *slot, o *Outcome) mark {
	r.urgent = true
	phase, half := breaker.Admit, admitFailed
	if s.firstAt > 0 {
		phase, half = breaker.Finish, finishFailed
	}
	r.judge(now, s, breaker.Sample{Phase: phase, Failed: true})
	r.verdict(s, breaker.Finish, false)
	s.learned.success.add(now, 0)
	if o.Kind == Faulted && o.RetryAfter > 0 {
		s.learned.probeFrom = max(s.learned.probeFrom, now+o.RetryAfter)
	}
	return half
}

// used is what an answer is explained by, in tokens.
type used struct{ uncached, output int64 }

// usage is what an answer used: of the prompt what was read, as is known now, or was expected.
func (s *slot) usage(o *Outcome) used {
	u := used{s.uncached(), s.answerTokens(o)}
	if part, told := o.reused(); told {
		u.uncached = s.input - int64(float64(part*float64(s.input)))
	}
	return u
}

// answerTokens is what the answer used, as far as the endpoint can have given it.
func (s *slot) answerTokens(o *Outcome) int64 {
	if !o.HasUsage {
		return s.output
	}
	n := tokens(o.Usage.Output)
	if most := s.learned.output; most > 0 {
		n = min(n, most)
	}
	return n
}

// unchanged tells whether the endpoint is what it was when the attempt was sent: its numbers are at
// hand then.
func (s *slot) unchanged() bool { return s.learned.endpoint == s.endpoint }

// cost is the price of what was used, as it was when the attempt was sent.
func (s *slot) cost(u money.Usage) money.Nano {
	if l := s.learned; s.unchanged() && !l.graded && u.Cached|u.Written == 0 {
		plain := money.Price{Input: l.input, Output: l.answer}
		return plain.Cost(u)
	}
	return s.endpoint.Price.Cost(u)
}

// read is how much of a prompt its endpoint read, as far as it can have.
func (s *slot) read(o *Outcome) int64 {
	n := tokens(o.Usage.Input)
	window := s.learned.window
	if !s.unchanged() {
		window = s.endpoint.ContextWindow
	}
	if window > 0 {
		n = min(n, window)
	}
	return n
}

// admit counts a first token that came.
func (r *Router) admit(now int64, s *slot, ttft int64) {
	pace := s.pace(ttft)
	if s.succeed(now, breaker.Admit, pace) {
		r.chance.k++
	} else {
		r.judge(now, s, breaker.Sample{Phase: breaker.Admit, Pace: pace})
	}
	if !s.outdated() {
		r.mark(s, mark(window.Bucket(ttft)))
		if pace == breaker.Late {
			r.mark(s, slow)
		}
	}
	r.verdict(s, breaker.Admit, pace != breaker.Late && s.ttftLimit != overdue)
}

func (s *slot) pace(ttft int64) breaker.Pace {
	switch {
	case s.ttftLimit <= 0:
		return breaker.NoPace
	case ttft > s.ttftLimit:
		return breaker.Late
	}
	return breaker.OnTime
}

// succeed tells the breaker that a half of an attempt went well, and whether that was all. A
// success takes a draw all the same: draws are numbered by samples.
func (s *slot) succeed(now int64, phase breaker.Phase, pace breaker.Pace) bool {
	return s.learned.breaker.Succeed(now, breaker.Success{Classes: s.classes, Round: s.round, Phase: phase, Pace: pace})
}

// judge tells the breaker whatever else there is.
func (r *Router) judge(now int64, s *slot, sample breaker.Sample) {
	sample.Classes, sample.Round = s.classes, s.round
	r.changed(now, s.learned, s.learned.breaker.Record(now, r.chance.draw(), sample))
}

// out keeps what the provider will not have out until then, and tells of it once.
func (r *Router) out(now int64, until *int64, to int64, e Event) {
	news := *until <= now
	*until = max(*until, to)
	if !news {
		return
	}
	r.states.movesAt = now // of all that share the credential
	r.urgent = true
	e.At, e.Until = now, *until
	r.event(e)
}
