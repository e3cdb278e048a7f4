package window

// Window counts what went well and what failed over the last span. The zero Window
// counts nothing; make one with New.
type Window struct {
	ring  Ring
	sum   total // of all cells
	cells [Cells]counts
}

type counts struct{ ok, failed uint32 }

type total struct{ ok, failed int64 }

func (t *total) add(c counts)  { t.ok, t.failed = t.ok+int64(c.ok), t.failed+int64(c.failed) }
func (t *total) take(c counts) { t.ok, t.failed = t.ok-int64(c.ok), t.failed-int64(c.failed) }

// New is an empty window over span microseconds.
func New(span int64) Window { return Window{ring: NewRing(span)} }

// Add counts evidence in the cell of when it happened. Evidence older than the window
// is dropped.
func (w *Window) Add(at int64, ok, failed uint32) {
	place, fresh, inside := w.ring.Turn(at)
	for i := range fresh {
		old := &w.cells[(place-i)&(Cells-1)]
		w.sum.take(*old)
		*old = counts{}
	}
	if !inside {
		return
	}
	c := &w.cells[place]
	w.sum.take(*c)
	c.ok, c.failed = plus(c.ok, ok), plus(c.failed, failed)
	w.sum.add(*c)
}

// Counts sums what is still inside the window.
func (w *Window) Counts(now int64) (ok, failed int64) {
	if w.sum == (total{}) {
		return 0, 0
	}
	t := w.sum
	for i := max(w.ring.head-Cells+1, 0); i <= min(w.ring.index(now)-Cells, w.ring.head); i++ {
		t.take(w.cells[i%Cells]) // it left the window since the last Add
	}
	return t.ok, t.failed
}

// Clear forgets all evidence.
func (w *Window) Clear() {
	if w.sum != (total{}) {
		*w = New(w.ring.span)
	}
}

// Subtract takes out of w what part holds: a window of the same span whose evidence was
// all added to w too.
func (w *Window) Subtract(part *Window) {
	if part.ring.span != w.ring.span {
		return
	}
	head, other := w.ring.head, part.ring.head
	for i := max(head-Cells+1, other-Cells+1, 0); i <= min(head, other); i++ {
		c, p := &w.cells[i%Cells], part.cells[i%Cells]
		less := counts{min(c.ok, p.ok), min(c.failed, p.failed)}
		c.ok, c.failed = c.ok-less.ok, c.failed-less.failed
		w.sum.take(less)
	}
}

// plus adds without wrapping.
func plus(a, b uint32) uint32 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<32 - 1
}
