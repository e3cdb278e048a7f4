package window

const cells = 8 // of a window: it covers 7/8 to 8/8 of its span

// Window counts what went well and what failed over the last span. The zero Window
// counts nothing; make one with New.
type Window struct {
	span  int64
	head  int64 // index of the newest cell
	sum   total // of all cells
	cells [cells]counts
}

type counts struct{ ok, failed uint32 }

type total struct{ ok, failed int64 }

func (t *total) add(c counts)  { t.ok, t.failed = t.ok+int64(c.ok), t.failed+int64(c.failed) }
func (t *total) take(c counts) { t.ok, t.failed = t.ok-int64(c.ok), t.failed-int64(c.failed) }

// New is an empty window over span microseconds.
func New(span int64) Window { return Window{span: span} }

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
	for i := max(w.head-cells+1, 0); i <= min(w.index(now)-cells, w.head); i++ {
		t.take(w.cells[i%cells]) // it left the window since the last Add
	}
	return t.ok, t.failed
}

// Clean tells at once that no failure is inside the window; false may be out of date.
func (w *Window) Clean() bool { return w.sum.failed == 0 }

// Clear forgets all evidence.
func (w *Window) Clear() {
	if w.sum != (total{}) {
		*w = Window{span: w.span}
	}
}

// Subtract takes out of w what part holds: a window of the same span whose evidence was
// all added to w too.
func (w *Window) Subtract(part *Window) {
	if part.span != w.span {
		return
	}
	for i := max(w.head-cells+1, part.head-cells+1, 0); i <= min(w.head, part.head); i++ {
		c, p := &w.cells[i%cells], part.cells[i%cells]
		less := counts{min(c.ok, p.ok), min(c.failed, p.failed)}
		c.ok, c.failed = c.ok-less.ok, c.failed-less.failed
		w.sum.take(less)
	}
}

// index is the number of the cell that at lies in; times before the clock's base share
// the first. Mostly it is the newest, and that needs no division.
func (w *Window) index(at int64) int64 {
	width := max(w.span/cells, 1)
	if from := w.head * width; at >= from && at-from < width {
		return w.head
	}
	return max(at, 0) / width
}

// advance empties the cells between the newest and i.
func (w *Window) advance(i int64) {
	if i-w.head >= cells {
		w.Clear()
		w.head = i
	}
	for w.head < i {
		w.head++
		w.sum.take(w.cells[w.head%cells])
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
