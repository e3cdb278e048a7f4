package window

const cells = 8 // of a window: it covers 7/8 to 8/8 of its span

// Window counts what went well and what failed over the last span. The zero Window
// counts nothing; make one with New.
type Window struct {
	span  int64
	head  int64 // index of the newest cell
	cells [cells]counts
}

type counts struct{ ok, failed uint32 }

// New is an empty window over span microseconds.
func New(span int64) Window { return Window{span: span} }

// Span is what the window covers, in microseconds.
func (w *Window) Span() int64 { return w.span }

// Add counts evidence in the cell of when it happened. Evidence older than the window
// is dropped.
func (w *Window) Add(at int64, ok, failed uint32) {
	if w.span <= 0 {
		return
	}
	i := w.index(at)
	if i <= w.head-cells {
		return
	}
	w.advance(i)
	c := &w.cells[i%cells]
	c.ok, c.failed = plus(c.ok, ok), plus(c.failed, failed)
}

// Counts sums what is still inside the window.
func (w *Window) Counts(now int64) (ok, failed int64) {
	if w.span <= 0 {
		return 0, 0
	}
	oldest := max(w.index(now)-cells+1, w.head-cells+1, 0)
	for i := oldest; i <= w.head; i++ {
		c := w.cells[i%cells]
		ok, failed = ok+int64(c.ok), failed+int64(c.failed)
	}
	return ok, failed
}

// Clear forgets all evidence.
func (w *Window) Clear() { *w = Window{span: w.span} }

// Subtract takes out of w what part holds: a window of the same span whose evidence was
// all added to w too.
func (w *Window) Subtract(part *Window) {
	if part.span != w.span {
		return
	}
	for i := max(w.head-cells+1, part.head-cells+1, 0); i <= min(w.head, part.head); i++ {
		c, p := &w.cells[i%cells], part.cells[i%cells]
		c.ok, c.failed = c.ok-min(c.ok, p.ok), c.failed-min(c.failed, p.failed)
	}
}

// index is the number of the cell that at lies in; times before the clock's base share
// the first.
func (w *Window) index(at int64) int64 { return max(at, 0) / max(w.span/cells, 1) }

// advance empties the cells between the newest and i.
func (w *Window) advance(i int64) {
	if i-w.head >= cells {
		w.cells, w.head = [cells]counts{}, i
	}
	for w.head < i {
		w.head++
		w.cells[w.head%cells] = counts{}
	}
}

// plus adds without wrapping.
func plus(a, b uint32) uint32 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<32 - 1
}
