package route

import "github.com/pointsman/pointsman/clientlib/route/breaker"

const (
	lostGrace       = 30 * second // past every limit an attempt that nobody ended is swept
	overdue   int64 = -1
)

// Attempt is taken once, by a Send step, and given back once, by Settle or Abandon.
type Attempt struct {
	slot   uint32
	serial uint64
}

// flights are the attempts that have not ended.
type flights struct {
	slots  []slot
	due    []int64 // by slot: when time alone brings something
	free   []int32
	serial uint64
}

// slot is one attempt in flight, on three cache lines: what a first token needs, what the end
// needs too, and limits. It gives back to what it captured, whatever came since. Times are µs.
type slot struct {
	serial         uint64 // 0: free
	learned        *learned
	tally          *tally
	started        int64
	firstAt        int64  // 0: no first token yet
	ttftLimit      int64  // above it a first token is late; 0: never; overdue: it is, and was counted
	older, younger int32  // without a first token at the same endpoint; −1: none
	cached         uint32 // tokens of the input, as expected: they are not read
	classes        breaker.ClassSet
	unread         bool  // its prompt counts as pending
	local          bool  // a probe of this process's own half-open
	home           uint8 // it went to the key's first home, or its second; 0: neither

	round    uint64
	policyAt int64 // when the workload's own limit passes; lostAt: it has none
	lostAt   int64
	input    int64 // tokens
	output   int64 // predicted
	call     *Call
	permit   *Permit // of a fleet's probe that is not judged yet
	endpoint *Endpoint

	taken taken // of limits
}

// send takes an attempt.
func (r *Router) send(now int64, p *pool, m *member, c *Call, probe probe, step *Step) {
	id := r.take()
	s, w, e, q := &r.slots[id], p.work.compiled.spec, m.endpoint, &c.request
	s.learned, s.tally, s.endpoint, s.call, s.permit = m.learned, m.tally, e, c, probe.permit
	s.tally.work = p.work
	s.started, s.input, s.output = now, q.Input, r.need.answer
	s.home, s.cached = r.choice.home, uint32(p.work.credit(r.choice.home, c))
	s.classes, s.local, s.round = p.ask.classes, probe.round != 0, probe.round
	if !s.local {
		s.round = m.breaker.Round()
	}
	s.limit(w, c.deadline(w), &step.Limits)
	r.due[id] = s.dueAt()
	p.work.input.learn(q.Input)
	r.count(now, id, s)
	r.charge(now, s)
	c.note(m.learned)
	step.Kind, step.Attempt, step.Endpoint, step.Probe = Send, Attempt{uint32(id), s.serial}, e, probe.on()
}

// take finds a free slot and gives it a serial of its own.
func (r *Router) take() int32 {
	if len(r.free) == 0 {
		r.slots, r.due = append(r.slots, slot{}), append(r.due, forever)
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
func (s *slot) limit(w *Workload, deadline int64, l *Limits) {
	a, total := &w.Attempts, deadline-s.started
	own := func(limit int64) int64 {
		if limit == 0 {
			return total
		}
		return min(limit, total)
	}
	l.Connect, l.FirstToken, l.Answer, l.Stall, l.Total = own(a.Connect), own(a.FirstToken), own(a.Answer), own(a.Stall), total
	if from := s.learned.lateFrom; from > 0 {
		s.ttftLimit = from + 3*kappa*s.input
	}
	if (s.local || s.permit != nil) && s.ttftLimit > 0 {
		l.FirstToken = min(l.FirstToken, s.ttftLimit)
	}
	s.lostAt = deadline + lostGrace
	first := a.Answer
	if s.streamed() {
		first = a.FirstToken
	}
	s.policyAt = s.lostAt
	if first > 0 {
		s.policyAt = s.started + first
	}
}

func (e *Endpoint) ttftLimit(input int64) int64 { return e.Breaker.TTFTLimit + 3*kappa*input }

// dueAt is when a first token counts as missing, a prompt as read since nothing else tells, or
// the attempt as lost.
func (s *slot) dueAt() int64 {
	if !s.streamed() && s.firstAt == 0 {
		return min(s.lostAt, s.started+prefill(s.uncached()))
	}
	if s.streamed() && s.ttftLimit > 0 && s.firstAt == 0 {
		return min(s.lostAt, s.started+s.ttftLimit)
	}
	return s.lostAt
}

func (s *slot) streamed() bool { return s.classes&streamClass != 0 }

// uncached is how much of the prompt its endpoint is expected to read.
func (s *slot) uncached() int64 { return s.input - int64(s.cached) }

// pending is how much of the prompt waits to be read, as far as that can be told.
func (s *slot) pending(now int64) int64 {
	if s.firstAt > 0 || !s.streamed() && now-s.started >= prefill(s.uncached()) {
		return 0
	}
	return s.uncached()
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
