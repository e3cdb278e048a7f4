package traffic

import (
	"fmt"
	"slices"
)

// tickRows is how many rows may say the same time.
const tickRows = 1 << 16

// ticks spreads rows that say the same time, because their times were rounded, uniformly over
// the time that the next rows do not have; their order stays. A row alone stays where it is.
type ticks struct {
	in     *parsed
	length int64 // µs
	chance stream

	queue []row // of one time
	head  int
	ids   []uint64 // theirs
	ahead row      // the first of the next time
	some  bool     // it is there
	end   error    // what came after the last row
	at    []float64
}

func (t *ticks) next(r *row) error {
	if t.head == len(t.queue) {
		if err := t.fill(); err != nil {
			return err
		}
	}
	*r = t.queue[t.head]
	t.head++
	return nil
}

func (t *ticks) fill() error {
	if !t.some {
		t.look()
	}
	if !t.some {
		return t.end
	}
	t.queue, t.head, t.ids = t.queue[:0], 0, t.ids[:0]
	for now := t.ahead.at; t.some && t.ahead.at == now; t.look() {
		if len(t.queue) == tickRows {
			return t.in.wrong(fmt.Errorf("more than %d rows say the same time: this is no clock", tickRows))
		}
		from := len(t.ids)
		t.ids = append(t.ids, t.ahead.blocks...)
		t.queue = append(t.queue, t.ahead)
		t.queue[len(t.queue)-1].blocks = t.ids[from:]
	}
	if len(t.queue) > 1 {
		t.spread()
	}
	return nil
}

// look reads one row ahead.
func (t *ticks) look() {
	t.some = false
	if t.end == nil {
		t.end = t.in.next(&t.ahead)
		t.some = t.end == nil
	}
}

func (t *ticks) spread() {
	length := t.length
	if t.some {
		length = min(length, t.ahead.at-t.queue[0].at)
	}
	t.at = t.at[:0]
	for range t.queue {
		t.at = append(t.at, t.chance.unit())
	}
	slices.Sort(t.at)
	for i := range t.queue {
		t.queue[i].at += int64(t.at[i] * float64(length))
	}
}
