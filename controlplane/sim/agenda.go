package sim

import "math"

const forever = math.MaxInt64

// kind says whose turn it is. Of things at the same time the lower kind comes first, then the
// lower number.
type kind uint8

const (
	ofServer kind = iota
	ofMail
	ofPlane
	ofTick
	ofPush
	ofQueue
	ofCall
	ofArrival
	kinds
)

// agenda is what comes next, of each number of a kind at most one thing: a heap of four
// branches that knows where each of them is.
type agenda struct {
	heap  []turn
	where [kinds][]int32 // 1 + place in the heap, by number; 0: not in it
}

type turn struct {
	at   int64
	rank uint64 // kind, then number
}

func (t turn) kind() kind    { return kind(t.rank >> 32) }
func (t turn) number() int32 { return int32(uint32(t.rank)) }

func (t turn) before(o turn) bool { return t.at < o.at || t.at == o.at && t.rank < o.rank }

// first is what comes next; at the end of all it is forever.
func (a *agenda) first() turn {
	if len(a.heap) == 0 {
		return turn{at: forever}
	}
	return a.heap[0]
}

// due is when the turn of a number comes; forever: it is not in.
func (a *agenda) due(k kind, number int32) int64 {
	if int(number) < len(a.where[k]) {
		if i := a.where[k][number]; i > 0 {
			return a.heap[i-1].at
		}
	}
	return forever
}

// set moves a number's turn; forever: it has none.
func (a *agenda) set(k kind, number int32, at int64) {
	for int(number) >= len(a.where[k]) {
		a.where[k] = append(a.where[k], 0)
	}
	i := int(a.where[k][number]) - 1
	switch t := (turn{at, uint64(k)<<32 | uint64(uint32(number))}); {
	case i >= 0 && a.heap[i].at == at:
	case at == forever && i >= 0:
		a.remove(i)
	case at == forever:
	case i < 0:
		a.heap = append(a.heap, t)
		a.up(len(a.heap)-1, t)
	case at < a.heap[i].at:
		a.up(i, t)
	default:
		a.down(i, t)
	}
}

func (a *agenda) remove(i int) {
	t, last := a.heap[i], a.heap[len(a.heap)-1]
	a.heap = a.heap[:len(a.heap)-1]
	a.where[t.kind()][t.number()] = 0
	switch {
	case i == len(a.heap):
	case last.before(t):
		a.up(i, last)
	default:
		a.down(i, last)
	}
}

func (a *agenda) up(i int, t turn) {
	for i > 0 {
		parent := (i - 1) / 4
		if !t.before(a.heap[parent]) {
			break
		}
		a.put(i, a.heap[parent])
		i = parent
	}
	a.put(i, t)
}

func (a *agenda) down(i int, t turn) {
	for {
		child := 4*i + 1
		if child >= len(a.heap) {
			break
		}
		least := child
		for k := child + 1; k < min(child+4, len(a.heap)); k++ {
			if a.heap[k].before(a.heap[least]) {
				least = k
			}
		}
		if !a.heap[least].before(t) {
			break
		}
		a.put(i, a.heap[least])
		i = least
	}
	a.put(i, t)
}

func (a *agenda) put(i int, t turn) {
	a.heap[i] = t
	a.where[t.kind()][t.number()] = int32(i + 1)
}
