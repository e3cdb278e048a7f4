package breaker

import "github.com/pointsman/pointsman/clientlib/route/window"

// track is one kind of evidence: those of the phases, and how admits compare with their limit.
type track uint8

const (
	paces  = track(phases)
	tracks = paces + 1
)

// phase is the one that a track speaks of.
func (t track) phase() Phase {
	if t == paces {
		return Admit
	}
	return Phase(t)
}

const most = 1<<29 - 1 // counted in one cell, so that a window's sum fits

// counts are samples that went well, or in time, and those that did not.
type counts struct{ ok, bad uint32 }

func (c counts) n() int64             { return int64(c.ok) + int64(c.bad) }
func (c counts) plus(d counts) counts { return counts{c.ok + d.ok, c.bad + d.bad} }
func (c counts) less(d counts) counts { return counts{c.ok - d.ok, c.bad - d.bad} }

// one is a single sample.
func one(ok bool) counts {
	if ok {
		return counts{ok: 1}
	}
	return counts{bad: 1}
}

// cell is one of a window's, for every class: two cache lines.
type cell [tracks][Classes]counts

// sliding is a window over all evidence of one endpoint. Its sums are those of the time
// that it was turned to last.
type sliding struct {
	ring  window.Ring
	sums  cell
	cells [window.Cells]cell
}

// turn is the cell of a time, nil if that has left the window.
func (w *sliding) turn(at int64) *cell {
	place, fresh, inside := w.ring.Turn(at)
	for i := range fresh {
		w.empty(&w.cells[(place-i)&(window.Cells-1)])
	}
	if !inside {
		return nil
	}
	return &w.cells[place]
}

func (w *sliding) empty(old *cell) {
	for t := range old {
		for c, n := range old[t] {
			w.sums[t][c] = w.sums[t][c].less(n)
		}
	}
	*old = cell{}
}

// add counts in a cell of its own.
func (w *sliding) add(to *cell, t track, c Class, n counts) {
	had := to[t][c]
	n.ok, n.bad = min(n.ok, most-had.ok), min(n.bad, most-had.bad)
	to[t][c], w.sums[t][c] = had.plus(n), w.sums[t][c].plus(n)
}

// clear forgets one track of a class.
func (w *sliding) clear(t track, c Class) {
	if w.sums[t][c] == (counts{}) {
		return
	}
	w.sums[t][c] = counts{}
	for i := range w.cells {
		w.cells[i][t][c] = counts{}
	}
}

// exclude takes one track of a class out of Any's.
func (w *sliding) exclude(t track, c Class) {
	for i := range w.cells {
		all, n := &w.cells[i][t][Any], w.cells[i][t][c]
		n.ok, n.bad = min(n.ok, all.ok), min(n.bad, all.bad)
		*all, w.sums[t][Any] = all.less(n), w.sums[t][Any].less(n)
	}
}

// evidence is the fast and the slow window; either opens. There is none until something
// was counted.
type evidence [2]sliding

func newEvidence(p *Policy) *evidence {
	return &evidence{{ring: window.NewRing(p.Window)}, {ring: window.NewRing(p.SlowWindow)}}
}

func (e *evidence) fits(p *Policy) bool {
	return e[0].ring.Span() == p.Window && e[1].ring.Span() == p.SlowWindow
}

// turn brings both windows up to now.
func (e *evidence) turn(now int64) {
	for i := range e {
		e[i].turn(now)
	}
}

// add counts in both.
func (e *evidence) add(at int64, t track, c Class, n counts) {
	for i := range e {
		if to := e[i].turn(at); to != nil {
			e[i].add(to, t, c, n)
		}
	}
}

// forget empties what a phase of a class was judged by.
func (e *evidence) forget(p Phase, c Class) {
	e.each(p, func(w *sliding, t track) { w.clear(t, c) })
}

// exclude takes out of Any what opened a narrower class.
func (e *evidence) exclude(p Phase, c Class) {
	e.each(p, func(w *sliding, t track) { w.exclude(t, c) })
}

func (e *evidence) each(p Phase, do func(*sliding, track)) {
	if e == nil {
		return
	}
	for i := range e {
		for t := range tracks {
			if t.phase() == p {
				do(&e[i], t)
			}
		}
	}
}
