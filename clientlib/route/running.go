package route

import "github.com/pointsman/pointsman/clientlib/route/money"

const (
	ringSize  = 16
	ringEvery = 250_000 // µs between two notes of the own load
)

// running is an endpoint's attempts in flight, here and elsewhere, how long they take, and what
// of the endpoint each of them needs: on three cache lines, the first shorter by the
// allocator's word. The first two are all that a candidate is judged by.
type running struct {
	inFlight int64
	most     int64   // concurrency; Absent: unlimited
	others   float64 // the fleet's in flight less the own ones of then, when the word came
	heardAt  int64   // when the word was true
	usual    float64 // slowdown that the fleet sees; 0: not known
	solo     *quota  // the only one, not divided; nil: look at all
	oldest   int32   // slots without a first token, oldest first; −1: none
	newest   int32

	since       int64      // when the oldest was sent
	expected    int64      // how long it should take; above 0
	input       money.Pico // prices of a plain request
	answer      money.Pico
	tpot        int32
	graded      bool  // a long request costs more
	cold        bool  // the next latency sample says nothing
	spreads     bool  // a strategy asks how its slowdowns lie
	pending     int64 // tokens of prompts that wait to be read
	outstanding int64 // tokens: prompts, and answers as predicted
	noteFrom    int64 // the next change leaves a note

	latency
	endpoint *Endpoint // of the last snapshot that had it
	lateFrom int64     // ttft_limit; 0: none
}

// describes takes what each attempt needs of the endpoint.
func (l *running) describes(e *Endpoint) {
	l.endpoint, l.most, l.tpot = e, e.Concurrency, tpot
	if own := e.Capacity.TPOT; own > 0 {
		l.tpot = int32(min(own, second))
	}
	l.lateFrom = e.Breaker.TTFTLimit
	l.input, l.answer, l.graded = e.Price.Input, e.Price.Output, len(e.Price.Above) > 0
}

// ring holds the own load of the last seconds, to compare with what the fleet saw then.
type ring struct {
	past [ringSize]past
	next int
}

// past is the load until a time.
type past struct {
	until int64
	own   ownLoad
}

// ownLoad is what this process has at an endpoint: attempts in flight, and tokens of prompts
// that wait to be read.
type ownLoad struct{ inFlight, pending int64 }

// shift changes the load.
func (l *learned) shift(now int64, by ownLoad) {
	l.leave(now)
	l.inFlight += by.inFlight
	l.pending += by.pending
}

// leave notes what the load was. Of each quarter of a second the first change does.
func (l *learned) leave(now int64) {
	if now >= l.noteFrom {
		l.ring.past[l.ring.next%ringSize] = past{now, ownLoad{l.inFlight, l.pending}}
		l.ring.next++
		l.noteFrom = now + ringEvery
	}
}

// then is the own load at a time: that of the first note whose end is later, else today's.
func (l *learned) then(at int64) ownLoad {
	own := ownLoad{l.inFlight, l.pending}
	if l.noteFrom-ringEvery <= at {
		return own // since the last note, which is far away in memory
	}
	for i := l.ring.next + ringSize - 1; i >= l.ring.next; i-- {
		p := &l.ring.past[i%ringSize]
		if p.until <= at {
			break
		}
		own = p.own
	}
	return own
}

// count adds the attempt to everything that it loads.
func (r *Router) count(now int64, id int32, s *slot) {
	l := s.learned
	if l.inFlight == 0 && now >= l.noteFrom+forgotten && (!l.word.fresh(now) || l.word.inFlight == 0) {
		l.cold = true // nothing changed for as long
	}
	l.shift(now, ownLoad{1, s.uncached()})
	s.unread = true
	l.outstanding += s.input + s.output
	r.queue(id, s)
	r.soil(s.tally)
}

// uncount takes it away again.
func (r *Router) uncount(now int64, id int32, s *slot) {
	r.answered(id, s)
	by := ownLoad{inFlight: -1}
	if s.unread {
		by.pending, s.unread = -s.uncached(), false
	}
	s.learned.shift(now, by)
	s.learned.outstanding -= s.input + s.output
}

// prefilled gives back the tokens of a prompt, once: its endpoint has read them.
func (s *slot) prefilled(now int64) {
	if s.unread {
		s.unread = false
		l := s.learned
		l.leave(now)
		l.pending -= s.uncached()
	}
}

// queue puts the attempt last among those without a first token.
func (r *Router) queue(id int32, s *slot) {
	l := s.learned
	s.older, s.younger = l.newest, -1
	if l.newest >= 0 {
		r.slots[l.newest].younger = id
	} else {
		l.await(id, s)
	}
	l.newest = id
}

// await makes an attempt the oldest.
func (l *running) await(id int32, s *slot) {
	l.oldest, l.since, l.expected = id, s.started, s.expectation(s.uncached(), s.output)
}

// answered takes it out; a second time it does nothing.
func (r *Router) answered(id int32, s *slot) {
	l := s.learned
	if s.older < 0 && l.oldest != id {
		return
	}
	switch {
	case s.older >= 0:
		r.slots[s.older].younger = s.younger
	case s.younger >= 0:
		l.await(s.younger, &r.slots[s.younger])
	default:
		l.oldest = -1
	}
	if s.younger >= 0 {
		r.slots[s.younger].older = s.older
	} else {
		l.newest = s.older
	}
	s.older, s.younger = -1, -1
}
