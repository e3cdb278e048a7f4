package fleet

import (
	"fmt"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

const (
	useWithin = 2 * second  // a permit returns unused after it
	grace     = 10 * second // for the news of a probe to arrive
	recent    = minute      // demand that a permit is likely to meet
	termBits  = 24          // permits' numbers grow from one term to the next
	mostLost  = 64          // permits of a round whose late results still count
)

// Grant is a permit for one leaf.
type Grant struct {
	Leaf   string
	Permit route.Permit
}

// permit is one probe that the fleet owes an answer.
type permit struct {
	number  uint64
	leaf    string
	by      int64 // then it is lost
	judged  bool
	settled bool // free for another: lost or unused; a good one is not
}

// Grants drains the permits to send.
func (f *Fleet) Grants() []Grant {
	out := f.grants
	f.grants = nil
	return out
}

// probe hands out the permits that a half-open word may have in flight. A good probe's is
// not handed out again: as many as there are permits start the ramp.
func (f *Fleet) probe(now int64, e *endpoint, w *word) (next int64) {
	next = now + sweepEvery
	if w.good >= e.spec.Breaker.Probes {
		f.ramp(now, e, w)
		return next
	}
	inFlight := int64(0)
	for _, p := range w.permits {
		if !p.settled && !p.judged && now >= p.by {
			p.settled = true
		}
		if !p.settled {
			inFlight++
			if !p.judged {
				next = min(next, p.by)
			}
		}
	}
	for ; inFlight < e.spec.Breaker.Probes && now >= w.quietUntil; inFlight++ {
		if !f.permit(now, e, w) {
			break
		}
	}
	return next
}

// permit gives one to a leaf with demand, drawn among all that have some.
func (f *Fleet) permit(now int64, e *endpoint, w *word) bool {
	leaves := f.willing(now, e, w)
	if len(leaves) == 0 {
		return false
	}
	f.permits++
	number := f.permits
	l := leaves[route.Index(route.Draw(uint32(f.term), uint32(number)), len(leaves))]
	if len(w.permits) >= mostLost {
		w.permits = slices.DeleteFunc(w.permits, func(p *permit) bool { return p.settled })
	}
	w.permits = append(w.permits, &permit{number: number, leaf: l.name, by: now + useWithin + grace})
	f.grants = append(f.grants, Grant{l.name, route.Permit{
		Number: number, Endpoint: e.spec.Name, Identity: e.spec.Identity,
		Class: w.class, Phase: w.phase, Round: w.round, UseBy: now + useWithin,
	}})
	return true
}

// willing are the leaves that had demand for the class: those that suit best.
func (f *Fleet) willing(now int64, e *endpoint, w *word) (best []*leaf) {
	least := unwilling
	for _, name := range f.inRoster() {
		l := f.leaves[name]
		if l.silent || l.gone > 0 || !w.in(l.locality) {
			continue
		}
		rank := f.suits(now, e, w, l)
		if rank < least {
			least, best = rank, best[:0]
		}
		if rank == least && rank < unwilling {
			best = append(best, l)
		}
	}
	return best
}

const unwilling = 8

// suits ranks a leaf: on a node that is not sick, with demand lately (when all is open,
// callers are shed and nobody has any), without another permit of this word.
func (f *Fleet) suits(now int64, e *endpoint, w *word, l *leaf) int {
	at := l.wanted(e, w.class)
	if at == 0 {
		return unwilling
	}
	return 4*bit(f.sick(now, l.node, e.spec.Provider)) + 2*bit(now-at >= recent) + bit(w.probing(l.name))
}

// wanted is when a leaf last had demand that the endpoint could serve; 0: never.
func (l *leaf) wanted(e *endpoint, c breaker.Class) (at int64) {
	for _, s := range e.services {
		if d := l.demand[s.name]; d != nil {
			at = max(at, d[c])
		}
	}
	return at
}

// probing tells whether a leaf has a permit of the word already.
func (w *word) probing(leaf string) bool {
	return slices.ContainsFunc(w.permits, func(p *permit) bool { return p.leaf == leaf && !p.settled })
}

// probeLimit is how long a probe may take, with what its news needs.
func (e *endpoint) probeLimit(w *word) int64 {
	limit := max(e.limits.stream, e.limits.whole)
	switch {
	case w.phase == breaker.Finish:
		limit = e.limits.total
	case w.class == breaker.Stream:
		limit = e.limits.stream
	}
	return useWithin + limit + grace
}

// probed takes the news of a permit; it is judged once, and only in its own round.
func (f *Fleet) probed(now int64, l *leaf, r *route.ProbeResult) {
	e := f.known(r.Endpoint, r.Identity)
	if e == nil {
		return
	}
	for _, w := range e.words {
		if w.state != route.FleetHalfOpen || w.class != r.Class || w.round != r.Round {
			continue
		}
		i := slices.IndexFunc(w.permits, func(p *permit) bool { return p.number == r.Permit && p.leaf == l.name })
		if i < 0 && f.inherits(now, w, r.Permit) && w.take(&permit{number: r.Permit, leaf: l.name, by: now + useWithin + grace}, e.spec.Breaker.Probes) {
			i = len(w.permits) - 1
		}
		if i < 0 || w.permits[i].judged {
			continue
		}
		f.answer(now, e, w, w.permits[i], r.Outcome)
		return
	}
}

// inherits tells whether a permit may be an earlier leader's of the same round: such news counts
// while there are none of one's own.
func (f *Fleet) inherits(now int64, w *word, number uint64) bool {
	return now < w.quietUntil && number>>termBits > 0 && number>>termBits < f.term
}

// take makes a permit the word's own: one for each leaf, since nobody here knows that it was
// handed out, and no more than there may be.
func (w *word) take(p *permit, most int64) bool {
	if int64(len(w.permits)) >= most || slices.ContainsFunc(w.permits, func(o *permit) bool { return o.leaf == p.leaf }) {
		return false
	}
	w.permits = append(w.permits, p)
	return true
}

func (f *Fleet) answer(now int64, e *endpoint, w *word, p *permit, o route.ProbeOutcome) {
	switch o {
	case route.ProbeUnused:
		p.judged, p.settled = true, true
	case route.ProbeStarted:
		if !p.settled {
			p.by = now + e.probeLimit(w) - useWithin
		}
		return
	case route.ProbeGood:
		p.judged, p.settled = true, false
		w.good++
	case route.ProbeBad:
		found := finding{class: w.class, phase: w.phase, soft: w.soft, evidence: fmt.Sprintf("a probe of leaf %s failed", p.leaf)}
		f.trip(now, e, w, found)
		return
	}
	f.probe(now, e, w)
}
