package breaker

import "github.com/pointsman/pointsman/clientlib/route/window"

// LateLimit is the part of admits that may be above ttft_limit.
const LateLimit = 0.1

const runSpan = 600_000_000 // hard failures in a row count for 10 min

// lane is a class that failed, or opened, at least once.
type lane struct {
	trips [phases]trip
	runs  [Phases]window.Window // failures since the last success
}

// lane makes a class's lane on first use, so that a healthy endpoint costs little.
func (b *Breaker) lane(c Class) *lane {
	if b.lanes[c] == nil {
		l := &lane{}
		for p := range l.runs {
			l.runs[p] = window.New(runSpan)
		}
		b.lanes[c] = l
	}
	return b.lanes[c]
}

// trip is how a key stands.
func (b *Breaker) trip(a at) (k trip) {
	if l := b.lanes[a.class]; l != nil {
		k = l.trips[a.phase]
	}
	return k
}

// run is how often a key failed since its last success.
func (b *Breaker) run(now int64, a at) (n int64) {
	if a.phase < Phases && b.runs[a.phase].Has(a.class) {
		_, n = b.lanes[a.class].runs[a.phase].Counts(now)
	}
	return n
}

// add counts a sample of one class.
func (b *Breaker) add(now int64, c Class, s Sample) {
	b.count(now, at{c, s.Phase}, !s.Failed)
	if s.Phase == Admit && s.Pace != NoPace {
		b.evidence.add(now, paces, c, one(s.Pace == OnTime))
	}
}

// count counts a result of a key.
func (b *Breaker) count(now int64, a at, ok bool) {
	b.evidence.add(now, track(a.phase), a.class, one(ok))
	switch {
	case ok:
		b.endRun(a)
	case a.phase < Phases:
		b.lane(a.class).runs[a.phase].Add(now, 0, 1)
		b.runs[a.phase] |= a.class.Set()
	}
}

// forget empties what a key was judged by.
func (b *Breaker) forget(a at) {
	b.evidence.forget(a.phase, a.class)
	b.endRun(a)
}

func (b *Breaker) endRun(a at) {
	if a.phase < Phases && b.runs[a.phase].Has(a.class) {
		b.lanes[a.class].runs[a.phase].Clear()
		b.runs[a.phase] &^= a.class.Set()
	}
}
