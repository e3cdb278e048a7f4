package route

import "github.com/pointsman/pointsman/clientlib/route/breaker"

const (
	credentialOut       = 60 * second  // after 401, 403 or no credit
	endpointOut         = 300 * second // after "no such model"; a changed endpoint is tried at once
	coolFirst     int64 = second       // without Retry-After, doubling
	coolMost            = 60 * second
	coolSpread    int64 = second // at least, or a tenth (decision-core.md, Limits)
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
	r.answered(int32(a.slot), s)
	r.prefilled(s)
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
	r.settle(now, int32(a.slot), s, o)
	return true
}

// Abandon ends an attempt of which nothing is known. Deferred after Settle it is a no-op
// without an event.
func (r *Router) Abandon(now int64, a Attempt) bool {
	return r.inFlight(a) != nil && r.Settle(now, a, Outcome{})
}

func (r *Router) settle(now int64, id int32, s *slot, o Outcome) {
	o.Kind = s.blame(now, o.Kind)
	r.learn(now, s, o)
	r.bill(s, o)
	r.waive(s.learned, s.probe)
	c := s.call
	c.open, c.last = false, o
	r.uncount(now, id, s)
	*s = slot{}
	r.free = append(r.free, id)
}

// blame is the caller's when its deadline passed before any limit of the workload's.
func (s *slot) blame(now int64, k OutcomeKind) OutcomeKind {
	deadline := s.call.request.Deadline
	if k == TimedOut && deadline > 0 && now >= deadline && now < s.policyAt {
		return Cancelled
	}
	return k
}

// learn does what the table of outcomes in decision-core.md says.
func (r *Router) learn(now int64, s *slot, o Outcome) {
	switch o.Kind {
	case Served:
		r.served(now, s, o)
	case Faulted, TimedOut:
		r.failed(now, s)
		if o.Kind == Faulted && o.RetryAfter > 0 {
			s.learned.probeFrom = max(s.learned.probeFrom, now+o.RetryAfter)
		}
	case Limited:
		r.tallied(s, func(c *cell) { c.Limited++ })
		r.cool(now, s, o.RetryAfter)
		return
	case Unauthorized:
		e := Event{Kind: EventCredentialOut, Endpoint: s.endpoint.Name, Name: s.endpoint.Credential, Reason: o.Detail}
		r.out(now, &s.learned.credential.until, now+credentialOut, e)
	case Missing:
		r.out(now, &s.learned.outUntil, now+endpointOut, Event{Kind: EventEndpointOut, Endpoint: s.endpoint.Name, Reason: o.Detail})
	case Invalid:
		s.sample(now, s.ttft(now, s.answerTokens(o)))
	case Cancelled:
		if s.firstAt == 0 {
			s.censored(now, s.asFirstToken(now, s.output))
		}
	}
	if s.outdated() || o.Kind != Served && o.Kind != Faulted && o.Kind != TimedOut {
		r.tallied(s, func(c *cell) { c.Excluded++ })
	}
}

func (r *Router) served(now int64, s *slot, o Outcome) {
	output := s.answerTokens(o)
	ttft := s.ttft(now, output)
	if s.firstAt == 0 {
		r.admit(now, s, int64(ttft))
	}
	r.judge(now, s, breaker.Sample{Phase: breaker.Finish})
	r.evidence(s, func(c *cell) { c.Finished++ })
	r.verdict(s, breaker.Finish, true)
	s.sample(now, ttft)
	if o.HasUsage {
		s.work.output.add(now, float64(output))
	}
	s.work.budget.earn(s.work.compiled.spec.Attempts.RetryRatio, s.work.compiled.spec)
	s.learned.quota.streak = 0
}

// ttft is the time to the first token, or what stands for it in a whole answer.
func (s *slot) ttft(now, output int64) float64 {
	if s.stream && s.firstAt > 0 {
		return float64(s.firstAt - s.started)
	}
	return s.asFirstToken(now, output)
}

func (s *slot) answerTokens(o Outcome) int64 {
	if o.HasUsage {
		return tokens(o.Usage.Output)
	}
	return s.output
}

// admit counts a first token that came.
func (r *Router) admit(now int64, s *slot, ttft int64) {
	pace := s.pace(ttft)
	r.judge(now, s, breaker.Sample{Phase: breaker.Admit, Pace: pace})
	r.evidence(s, func(c *cell) {
		c.Admitted++
		if pace == breaker.Late {
			c.Slow++
		}
		c.time(ttft)
	})
	r.verdict(s, breaker.Admit, pace != breaker.Late && !s.late)
}

func (s *slot) pace(ttft int64) breaker.Pace {
	switch {
	case s.late || s.endpoint.Breaker.TTFTLimit == 0:
		return breaker.NoPace
	case ttft > s.ttftLimit():
		return breaker.Late
	}
	return breaker.OnTime
}

// failed counts a hard failure in the half that it belongs to.
func (r *Router) failed(now int64, s *slot) {
	r.urgent = true
	phase := breaker.Admit
	if s.firstAt > 0 {
		phase = breaker.Finish
	}
	r.judge(now, s, breaker.Sample{Phase: phase, Failed: true})
	r.evidence(s, func(c *cell) {
		if phase == breaker.Admit {
			c.AdmitFailed++
		} else {
			c.FinishFailed++
		}
	})
	r.verdict(s, breaker.Finish, false)
}

func (r *Router) judge(now int64, s *slot, sample breaker.Sample) {
	sample.Classes, sample.Round = s.classes, s.round
	r.changed(now, s.learned, s.learned.breaker.Record(now, r.chance.draw(), sample))
}

// cool keeps a quota, or an endpoint without one, out until Retry-After and a little more,
// so that not all come back at once.
func (r *Router) cool(now int64, s *slot, after int64) {
	h := s.learned.quota
	if h.until <= now { // the refusals of one burst are one
		h.streak++
	}
	if after <= 0 {
		after = min(coolMost, coolFirst<<min(max(h.streak-1, 0), 6))
	}
	until := now + after + upTo(r.chance.draw(), max(coolSpread, after/10))
	if until <= h.until {
		return
	}
	if h.until <= now {
		r.event(Event{Kind: EventCooldown, At: now, Endpoint: s.endpoint.Name, Until: until})
	}
	h.until = until
	r.touch(now, s.learned)
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
