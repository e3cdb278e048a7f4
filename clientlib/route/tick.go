package route

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

const (
	tickBusy = 100_000 // µs to the next tick while attempts are in flight
	tickIdle = second
)

// Tick does what time alone brings: attempts that nobody ended, first tokens that are
// overdue, permits that nobody used, a fleet that fell silent. It says when to call it again.
func (r *Router) Tick(now int64) (next int64) {
	next = now + tickIdle
	if len(r.free) < len(r.slots) {
		next = now + tickBusy
	}
	for id, at := range r.due {
		if now >= at {
			r.watch(now, int32(id), &r.slots[id])
		}
	}
	r.permits = slices.DeleteFunc(r.permits, func(p Permit) bool {
		if now >= p.UseBy || r.learned[key{p.Endpoint, p.Identity}].outdated(p) {
			r.result(p, ProbeUnused)
			return true
		}
		next = min(next, p.UseBy)
		return false
	})
	r.listen(now)
	r.pass(now)
	r.endure(now)
	for _, w := range r.order {
		for _, p := range w.list {
			if p.token == r.snapshot.static.token && now >= p.dueAt && p.restless() {
				r.refresh(now, p)
			}
		}
	}
	return next
}

// watch looks at an attempt that is due: nobody ended it, its first token is missing, or, when
// that cannot be seen, its prompt should have been read.
func (r *Router) watch(now int64, id int32, s *slot) {
	if now >= s.lostAt {
		r.event(Event{Kind: EventLost, At: now, Endpoint: s.endpoint.Name, Workload: s.tally.work.compiled.spec.Name})
		r.settle(now, id, s, &Outcome{})
		return
	}
	r.due[id] = s.lostAt
	if !s.streamed() {
		s.prefilled(now)
		return
	}
	s.ttftLimit = overdue
	r.urgent = true
	if !s.outdated() {
		r.mark(s, slow)
	}
	r.changed(now, s.learned, s.learned.breaker.Overdue(now, r.chance.draw(), s.classes, s.round))
	r.verdict(s, breaker.Admit, false)
}

// listen finds fleet openings that expired for lack of news.
func (r *Router) listen(now int64) {
	r.held = slices.DeleteFunc(r.held, func(l *learned) bool {
		for c := range breaker.Classes {
			if l.heldBy(1<<c) != 0 && l.word.lost(now, c) {
				r.tell(now, l)
			}
		}
		return l.heldBy(allClasses) == 0
	})
}
