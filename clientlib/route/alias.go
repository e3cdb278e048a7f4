package route

import "math"

// Alias draws an index with the probability of its share, in constant time (Vose).
// An index of share 0 is never drawn.
type Alias struct {
	columns []column
	part    []float64 // scratch
	stack   []int32   // scratch: small ones from the left, large ones from the right
}

type column struct {
	own, alias int32
	coin       uint32 // own when the coin is below
}

// Build replaces the table, which draws ids in place of indices where there are any. Shares
// below 0, and what is no number, count as 0.
func (a *Alias) Build(shares []float64, ids []int32) {
	a.columns, a.part, a.stack = a.columns[:0], a.part[:0], a.stack[:0]
	sum := 0.0
	for i, share := range shares {
		if share > 0 && share <= math.MaxFloat64 {
			id := int32(i)
			if ids != nil {
				id = ids[i]
			}
			a.columns = append(a.columns, column{own: id, alias: id, coin: math.MaxUint32})
			a.part = append(a.part, share)
			a.stack = append(a.stack, 0)
			sum += share
		}
	}
	a.pair(sum)
}

// pair gives what a large column has too much to a small one, until all are even.
func (a *Alias) pair(sum float64) {
	n := len(a.columns)
	small, large := 0, n
	push := func(i int32) {
		if a.part[i] < 1 {
			a.stack[small] = i
			small++
		} else {
			large--
			a.stack[large] = i
		}
	}
	for i := range a.columns {
		a.part[i] = float64(a.part[i]*float64(n)) / sum
		push(int32(i))
	}
	for small > 0 && large < n {
		small--
		s, l := a.stack[small], a.stack[large]
		large++
		a.columns[s].alias = a.columns[l].own
		a.columns[s].coin = coin(a.part[s])
		a.part[l] = float64(a.part[l]+a.part[s]) - 1
		push(l)
	}
}

// coin is below which of 2^32 values a column keeps its own index.
func coin(part float64) uint32 {
	return uint32(min(math.Floor(float64(part*(1<<32))), math.MaxUint32))
}

// Len is how many indices can be drawn.
func (a *Alias) Len() int { return len(a.columns) }

// Pick maps two draws to an index. The table must not be empty.
func (a *Alias) Pick(at, flip uint32) int32 {
	c := &a.columns[Index(at, len(a.columns))]
	if flip < c.coin {
		return c.own
	}
	return c.alias
}

// Column shows one column: an own index, below which coin it is drawn, and the other one.
func (a *Alias) Column(i int) (own int, coin uint32, alias int) {
	c := &a.columns[i]
	return int(c.own), c.coin, int(c.alias)
}
