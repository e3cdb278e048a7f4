package route

import "github.com/pointsman/pointsman/clientlib/route/breaker"

const lostGrace = 30 * second // past every limit an attempt that nobody ended is swept

// Attempt is taken once, by a Send step, and given back once, by Settle or Abandon.
type Attempt struct {
	slot   uint32
	serial uint64
}

// slot is one attempt in flight. It gives back to what it captured, whatever came since.
type slot struct {
	serial   uint64 // 0: free
	learned  *learned
	endpoint *Endpoint
	tally    *tally
	work     *work
	call     *Call

	moments
	sizes

	classes breaker.ClassSet
	stream  bool
	late    bool // counted before its first token came
	probe   probe
	round   uint64

	older, younger int32 // without a first token at the same endpoint; −1: none
}

// moments are when what of an attempt has come, or is due. Times are µs.
type moments struct {
	started   int64
	expected  int64 // from then to the first token, or the end
	policyAt  int64 // when the workload's own limit passes; lostAt: it has none
	overdueAt int64 // when a missing first token counts; 0: never
	lostAt    int64
	firstAt   int64 // 0: no first token yet
}

// sizes are an attempt's tokens.
type sizes struct {
	input   int64
	output  int64 // predicted
	pending int64 // of the prompt, still counted
}

// send takes an attempt.
func (r *Router) send(now int64, p *pool, m *member, c *Call, probe probe) Step {
	id := r.take()
	s, w, e := &r.slots[id], p.work.compiled.spec, m.facts.endpoint
	q := &c.request
	*s = slot{
		serial: s.serial, learned: m.learned, endpoint: e, tally: m.tally, work: p.work, call: c,
		moments: moments{started: now}, sizes: sizes{q.Input, p.work.predict(q), q.Input},
		classes: p.ask.classes, stream: q.Stream, probe: probe, round: m.breaker.Round(),
	}
	if probe.local {
		s.round = probe.round
	}
	limits := s.limit(now, w, c.deadline(w))
	r.count(now, id, s)
	c.note(m.learned)
	return Step{Kind: Send, Attempt: Attempt{uint32(id), s.serial}, Endpoint: e, Limits: limits, Probe: probe.on()}
}

// take finds a free slot and gives it a serial of its own.
func (r *Router) take() int32 {
	if len(r.free) == 0 {
		r.slots = append(r.slots, slot{})
		r.free = append(r.free, int32(len(r.slots)-1))
	}
	id := r.free[len(r.free)-1]
	r.free = r.free[:len(r.free)-1]
	r.serial++
	r.slots[id].serial = r.serial
	return id
}

// limit says how long the attempt may take, and notes when what passes. A limit of 0 is none
// of its own.
func (s *slot) limit(now int64, w *Workload, deadline int64) Limits {
	total := deadline - now
	own := func(limit int64) int64 {
		if limit == 0 {
			return total
		}
		return min(limit, total)
	}
	l := Limits{Connect: own(w.Attempts.Connect), FirstToken: own(w.Attempts.FirstToken), Answer: own(w.Attempts.Answer), Stall: own(w.Attempts.Stall), Total: total}
	if s.probe.on() {
		l.FirstToken = min(l.FirstToken, s.patience())
	}
	s.expected = max(expectation(s.input, s.output, s.stream), 1)
	if s.endpoint.Breaker.TTFTLimit > 0 && s.stream {
		s.overdueAt = now + s.ttftLimit()
	}
	s.lostAt = deadline + lostGrace
	first := w.Attempts.Answer
	if s.stream {
		first = w.Attempts.FirstToken
	}
	s.policyAt = s.lostAt
	if first > 0 {
		s.policyAt = now + first
	}
	return l
}

// ttftLimit is the time to a first token that the endpoint's policy allows this attempt.
func (s *slot) ttftLimit() int64 { return s.endpoint.ttftLimit(s.input) }

func (e *Endpoint) ttftLimit(input int64) int64 { return e.Breaker.TTFTLimit + 3*kappa*input }

// patience is how long a probe waits for a first token.
func (s *slot) patience() int64 {
	if s.endpoint.Breaker.TTFTLimit > 0 {
		return s.ttftLimit()
	}
	return forever
}

// count adds the attempt to everything that it loads.
func (r *Router) count(now int64, id int32, s *slot) {
	l := s.learned
	if now-l.usedAt >= forgotten && l.inFlight == 0 && (!l.word.fresh(now) || l.word.inFlight == 0) {
		l.cold = true
	}
	l.usedAt = now
	l.inFlight++
	l.ring.note(now, l.inFlight)
	r.queue(id, s)
	r.gauge(s, 1, s.pending, s.input+s.output)
}

// uncount takes it away again.
func (r *Router) uncount(now int64, id int32, s *slot) {
	l := s.learned
	r.answered(id, s)
	r.prefilled(s)
	l.inFlight--
	l.ring.note(now, l.inFlight)
	r.gauge(s, -1, 0, -s.input-s.output)
}

// prefilled gives the prompt's tokens back, once.
func (r *Router) prefilled(s *slot) {
	if s.pending == 0 {
		return
	}
	r.gauge(s, 0, -s.pending, 0)
	s.pending = 0
}

// queue puts the attempt last among those without a first token.
func (r *Router) queue(id int32, s *slot) {
	l := s.learned
	s.older, s.younger = l.newest, -1
	if l.newest >= 0 {
		r.slots[l.newest].younger = id
	} else {
		l.oldest = id
	}
	l.newest = id
}

// answered takes it out; a second time it does nothing.
func (r *Router) answered(id int32, s *slot) {
	l := s.learned
	if s.older < 0 && l.oldest != id {
		return
	}
	if s.older >= 0 {
		r.slots[s.older].younger = s.younger
	} else {
		l.oldest = s.younger
	}
	if s.younger >= 0 {
		r.slots[s.younger].older = s.older
	} else {
		l.newest = s.older
	}
	s.older, s.younger = -1, -1
}

// inFlight finds an attempt that has not ended, or nil.
func (r *Router) inFlight(a Attempt) *slot {
	if int(a.slot) < len(r.slots) && a.serial > 0 && r.slots[a.slot].serial == a.serial {
		return &r.slots[a.slot]
	}
	return nil
}

// at finds an attempt that is in flight. Another one is stale: nothing moves, and an event says so.
func (r *Router) at(now int64, a Attempt) *slot {
	s := r.inFlight(a)
	if s == nil {
		r.event(Event{Kind: EventStale, At: now})
	}
	return s
}

// note tells the call where its attempt went.
func (c *Call) note(l *learned) {
	if c.attempts > 0 && c.at == l {
		c.same++
	} else {
		c.same = 0
	}
	c.attempts++
	c.at, c.open, c.repeat = l, true, false
}
