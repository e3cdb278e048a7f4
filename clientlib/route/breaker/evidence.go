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

// one is a single sample.
func one(ok bool) counts {
	if ok {
		return counts{ok: 1}
	}
	return counts{bad: 1}
}

// tally is a count of each track and class: one cache line.
type tally [tracks][Classes]uint32

func (n *tally) take(part *tally) {
	for t := range n {
		for c := range n[t] {
			n[t][c] -= part[t][c]
		}
	}
}

// cell is one of a window's.
type cell struct{ ok, bad tally }

// sliding is a window over all evidence of one endpoint. Its sums are those of the time
// that it was turned to last. While none is bad no cell's bad ones need a look.
type sliding struct {
	sums  cell
	cells [window.Cells]cell
}

// turn is the cell of a time, nil if that has left the window.
func (w *sliding) turn(ring *window.Ring, at int64) *cell {
	place, fresh, inside := ring.Turn(at)
	for i := range fresh {
		w.empty(&w.cells[(place-i)&(window.Cells-1)])
	}
	if !inside {
		return nil
	}
	return &w.cells[place]
}

func (w *sliding) empty(old *cell) {
	w.sums.ok.take(&old.ok)
	old.ok = tally{}
	if w.sums.bad != (tally{}) {
		w.sums.bad.take(&old.bad)
		old.bad = tally{}
	}
}

// add counts in a cell of its own.
func (w *sliding) add(to *cell, t track, c Class, n counts) {
	w.sums.ok[t][c] += more(&to.ok[t][c], n.ok)
	if n.bad > 0 {
		w.sums.bad[t][c] += more(&to.bad[t][c], n.bad)
	}
}

// more adds up to the most, and tells how much.
func more(to *uint32, n uint32) uint32 {
	n = min(n, most-*to)
	*to += n
	return n
}

// clear forgets one track of a class.
func (w *sliding) clear(t track, c Class) {
	for i := range w.cells {
		w.cells[i].ok[t][c], w.cells[i].bad[t][c] = 0, 0
	}
	w.sums.ok[t][c], w.sums.bad[t][c] = 0, 0
}

// exclude takes one track of a class out of Any's.
func (w *sliding) exclude(t track, c Class) {
	for i := range w.cells {
		part := &w.cells[i]
		w.sums.ok[t][Any] -= less(&part.ok[t][Any], part.ok[t][c])
		w.sums.bad[t][Any] -= less(&part.bad[t][Any], part.bad[t][c])
	}
}

// less takes what is there, at most n, and tells how much.
func less(from *uint32, n uint32) uint32 {
	n = min(n, *from)
	*from -= n
	return n
}

// evidence is the fast and the slow window; either opens. There is none until something
// was counted. A cell of the slow one lasts for many of the fast one's: what was pending it
// gains only when its cell ends or it is judged.
type evidence struct {
	rings   [windows]window.Ring
	wary    [Phases]ClassSet // by the slow window, as it was judged last
	judged  bool             // and nothing but successes came since
	_       [29]byte         // the rest lies by cache lines
	owed    tally            // to the slow window's newest cell
	windows [windows]sliding
}

const (
	fast = iota
	slow
	windows
)

func newEvidence(p *Policy) *evidence {
	return &evidence{rings: [windows]window.Ring{window.NewRing(p.Window), window.NewRing(p.SlowWindow)}}
}

func (e *evidence) fits(p *Policy) bool {
	return e.rings[fast].Span() == p.Window && e.rings[slow].Span() == p.SlowWindow
}

// turn is the cell of a time in one of the windows.
func (e *evidence) turn(i int, at int64) *cell { return e.windows[i].turn(&e.rings[i], at) }

// begin brings both windows up to now, the slow one when its cell has ended.
func (e *evidence) begin(now int64) {
	e.turn(fast, now)
	if _, to := e.rings[slow].Newest(); now >= to {
		e.pay()
		e.turn(slow, now)
	}
}

// pay gives the slow window what it is owed: it is to be judged, or to change.
func (e *evidence) pay() {
	if e.judged = false; e.owed == (tally{}) {
		return
	}
	from, _ := e.rings[slow].Newest()
	e.gain(slow, from, &e.owed)
	e.owed = tally{}
}

// gain counts successes of every track in one of the windows.
func (e *evidence) gain(i int, at int64, n *tally) {
	to := e.turn(i, at)
	if to == nil {
		return
	}
	for t := range n {
		sum, in := &e.windows[i].sums.ok[t], &to.ok[t]
		for c, ok := range n[t] {
			sum[c] += more(&in[c], ok)
		}
	}
}

// owe notes what the slow window is to gain.
func (e *evidence) owe(n *tally) {
	for t := range n {
		for c, ok := range n[t] {
			more(&e.owed[t][c], ok)
		}
	}
}

// add counts in both.
func (e *evidence) add(at int64, t track, c Class, n counts) {
	for i := range e.windows {
		if to := e.turn(i, at); to != nil {
			e.windows[i].add(to, t, c, n)
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
	for i := range e.windows {
		for t := range tracks {
			if t.phase() == p {
				do(&e.windows[i], t)
			}
		}
	}
}
