package route

const (
	columnsEach = 64      // of a Maglev table for each that may be in it, at least
	mostShare   = 1 << 40 // a larger one counts as this: sums stay in range
)

// Maglev gives every hash a home, each to its part of them. When one leaves, its hashes
// move, and few others.
type Maglev struct{ table []int32 }

// Home is one that hashes may find in a Maglev table.
type Home struct {
	Place int32  // what the table answers
	Hash  uint32 // Key of its name
	Share int64  // 0 or less: nothing finds it
}

func (h *Home) share() int64 { return min(max(h.Share, 0), mostShare) }

// walk is one home's way through the table.
type walk struct {
	place    int32
	at, step uint32
	share    int64
	credit   int64 // turns that it has, in units of the mean share
}

// NewMaglev builds the table of some homes. Its size follows from how many they are, those
// of share 0 too.
func NewMaglev(homes []Home) *Maglev {
	var sum int64
	for i := range homes {
		sum += homes[i].share()
	}
	if sum == 0 {
		return &Maglev{}
	}
	m := &Maglev{make([]int32, columnsOf(len(homes)))}
	for i := range m.table {
		m.table[i] = -1
	}
	unit := (sum + int64(len(homes)) - 1) / int64(len(homes))
	m.fill(m.walks(homes, unit/2), unit)
	return m
}

func (m *Maglev) walks(homes []Home, credit int64) []walk {
	all := make([]walk, 0, len(homes))
	for i := range homes {
		if h, size := &homes[i], len(m.table); h.share() > 0 {
			at, step := Index(Rehash(h.Hash, 0), size), 1+Index(Rehash(h.Hash, 1), size-1)
			all = append(all, walk{h.Place, uint32(at), uint32(step), h.share(), credit})
		}
	}
	return all
}

// fill takes rounds in which everyone's credit grows by its share; each unit of it is a
// turn, and a turn takes the next free column on the walk.
func (m *Maglev) fill(all []walk, unit int64) {
	for left := len(m.table); ; {
		for i := range all {
			w := &all[i]
			for w.credit += w.share; w.credit >= unit; w.credit -= unit {
				if left == 0 {
					return
				}
				w.take(m.table)
				left--
			}
		}
	}
}

func (w *walk) take(table []int32) {
	at, step, size := w.at, w.step, uint32(len(table))
	for table[at] >= 0 {
		at = min(at+step, at+step-size) // below size, one of the two wraps
	}
	table[at], w.at = w.place, at
}

// Len is the table's size, a prime; 0 when nothing can be found in it.
func (m *Maglev) Len() int { return len(m.table) }

// At is the place that a hash finds. The table must not be empty.
func (m *Maglev) At(hash uint32) int32 { return m.table[Index(hash, len(m.table))] }

// columnsOf is the first prime from 64 for each of n on, n rounded up to a power of two: a
// table whose size changes moves every hash, so it changes seldom.
func columnsOf(n int) int {
	size := columnsEach
	for size < columnsEach*n {
		size *= 2
	}
	for size++; !prime(size); size += 2 {
	}
	return size
}

// prime holds for odd numbers above 1 only.
func prime(n int) bool {
	for d := 3; d*d <= n; d += 2 {
		if n%d == 0 {
			return false
		}
	}
	return true
}
