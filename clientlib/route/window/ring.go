package window

// Cells is into how many a window is cut: it covers 7/8 to 8/8 of its span.
const Cells = 8

// Ring says which cell of a sliding window a time lies in. Who counts in a Ring keeps Cells
// cells. Its zero value, and one of no span, has none.
type Ring struct {
	span int64
	head int64 // number of the newest cell
}

// NewRing is a window over span microseconds.
func NewRing(span int64) Ring { return Ring{span: span} }

// Span is the length that it was made with.
func (r *Ring) Span() int64 { return r.span }

// Turn finds the place of the cell that a time lies in. That cell and those at the places
// before it, fresh in all, hold what has left the window: the caller empties them. False:
// the time is older than the window.
func (r *Ring) Turn(at int64) (place, fresh int64, ok bool) {
	if r.span <= 0 {
		return 0, 0, false
	}
	i := r.index(at)
	if i > r.head {
		fresh = min(i-r.head, Cells)
		r.head = i
	}
	return i % Cells, fresh, i > r.head-Cells
}

// Newest is the time that the newest cell covers: from, and up to to.
func (r *Ring) Newest() (from, to int64) {
	if r.span <= 0 {
		return 0, 1<<63 - 1
	}
	return r.head * r.width(), (r.head + 1) * r.width()
}

func (r *Ring) width() int64 { return max(r.span/Cells, 1) }

// index is the number of the cell that at lies in; times before the clock's base share
// the first. Mostly it is the newest, and that needs no division.
func (r *Ring) index(at int64) int64 {
	width := r.width()
	if from := r.head * width; at >= from && at-from < width {
		return r.head
	}
	return max(at, 0) / width
}
