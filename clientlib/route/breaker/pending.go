package breaker

import "math"

// Nearly all samples are successes of an endpoint against which nothing speaks. They are
// counted where a pick looks anyway, and reach the windows when a cell of those ends or
// something else happens.

// row is where successes of a kind are pending.
type row uint8

const (
	admitted row = iota // says nothing of pace
	inTime
	finished

	rows
)

const sets = 1 << (Classes - 1) // of classes, all with Any

// pending counts successes since from.
type pending struct {
	from, lasts int64 // within one cell of each window; lasts 0: nothing can be pending
	counts      [rows]bySet
}

// Success is a Sample that went well, in registers: of no more than four parts it is passed
// and read there.
type Success struct {
	Classes ClassSet
	Round   uint64
	Phase   Phase // Admit or Finish
	Pace    Pace  // not Late
}

// Succeed counts a success, and tells whether that was all: no rule can make anything of it
// before the cell of a window ends. Else it is a sample for Record. It is what Record does first.
func (b *Breaker) Succeed(now int64, s Success) bool {
	if s.Pace == Late || s.Phase >= Quality || uint64(now-b.pending.from) >= uint64(b.pending.lasts) ||
		s.Round < b.settled || (b.refused|b.wary[s.Phase])&s.Classes != 0 {
		return false
	}
	row := row(s.Pace)
	if s.Phase == Finish {
		row = finished
	}
	n := &b.pending.counts[row][s.Classes>>1&(sets-1)]
	if *n == math.MaxUint8 {
		return false
	}
	*n++
	return true
}

// quiet is Succeed for any sample.
func (b *Breaker) quiet(now int64, s Sample) bool {
	return !s.Failed && b.Succeed(now, Success{s.Classes, s.Round, s.Phase, s.Pace})
}

// flush moves what is pending into the windows.
func (b *Breaker) flush() {
	if b.evidence != nil {
		b.pour()
		b.evidence.pay()
	}
}

// pour moves it into the fast window, and notes that the slow one is owed it.
func (b *Breaker) pour() {
	p := &b.pending
	if p.lasts == 0 {
		return
	}
	p.lasts = 0
	inTime, ends := p.counts[inTime].byClass(), p.counts[finished].byClass()
	admits := p.counts[admitted].byClass()
	for c := range admits {
		admits[c] += inTime[c]
	}
	n := tally{admits, ends, ends, inTime}
	b.evidence.gain(fast, p.from, &n)
	b.evidence.owe(&n)
	p.counts = [rows]bySet{}
}

// bySet counts successes by the set of their classes, Any left out.
type bySet [sets]uint8

// byClass counts them in every class of the set.
func (n *bySet) byClass() [Classes]uint32 {
	of := func(set int) uint32 { return uint32(n[set]) }
	both, long := of(3)+of(7), of(4)+of(5)+of(6)+of(7)
	stream, tools := of(1)+of(5)+both, of(2)+of(6)+both
	return [Classes]uint32{of(0) + of(1) + of(2) + of(3) + long, stream, tools, long}
}

// watch says which classes' successes count at once from now on: those which could meet a
// rule, or end a run. The others may be pending until a cell of a window ends. What the slow
// window is owed could only make it less wary.
func (b *Breaker) watch() {
	e := b.evidence
	if !e.judged {
		e.judged, e.wary = true, [Phases]ClassSet{}
		b.suspect(&e.windows[slow].sums, &e.wary)
	}
	b.wary = e.wary
	b.suspect(&e.windows[fast].sums, &b.wary)
	for p, failing := range b.runs {
		b.wary[p] |= failing
	}
	from, to := e.rings[fast].Newest()
	slowFrom, slowTo := e.rings[slow].Newest()
	b.pending.from = max(from, slowFrom)
	b.pending.lasts = min(to, slowTo) - b.pending.from
}

// suspect marks classes with more failures than the samples they have, or need, allow.
func (b *Breaker) suspect(sums *cell, wary *[Phases]ClassSet) {
	if sums.bad == (tally{}) {
		return
	}
	for t := range tracks {
		if sums.bad[t] == ([Classes]uint32{}) {
			continue
		}
		for c := range Classes {
			bad := int64(sums.bad[t][c])
			n := bad + int64(sums.ok[t][c])
			if bad > 0 && b.crosses(ruleOf(t), bad, max(n, b.policy.MinSamples)) {
				wary[t.heardOf()] |= c.Set()
			}
		}
	}
}

// heardOf is the phase whose successes a track counts.
func (t track) heardOf() Phase {
	if t == track(Quality) {
		return Finish
	}
	return t.phase()
}
