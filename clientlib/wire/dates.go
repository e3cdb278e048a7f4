package wire

import "sync"

// How many sends keep their times: more while the other side has not seen as many. What it
// has seen last is younger than that, unless it reads nothing.
const (
	rememberedFirst = 16
	remembered      = 256
)

// Dates remembers when each message of a stream was sent, to date what the other side
// says (protocol.md, rule 9): a message was sent no earlier than the send it has seen, plus
// the time its sender then held it. Its arrival says nothing, for it may have been frozen
// on the way. It is safe for concurrent use.
type Dates struct {
	mu    sync.Mutex
	start int64  // when the stream began: a lower bound of all
	last  uint64 // sequence sent
	seen  uint64 // sequence that the other side had seen at the least
	ring  []int64
}

// NewDates are those of a stream that begins now.
func NewDates(now int64) *Dates { return &Dates{start: now, ring: make([]int64, rememberedFirst)} }

// Sent notes the next send and gives its sequence number, from 1.
func (d *Dates) Sent(now int64) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	if n := uint64(len(d.ring)); d.last-d.seen > n && n < remembered {
		d.grow()
	}
	d.ring[d.last%uint64(len(d.ring))] = now
	return d.last
}

// grow makes room for twice as many, before the last is noted.
func (d *Dates) grow() {
	was, n := d.ring, uint64(len(d.ring))
	d.ring = make([]int64, 2*n)
	for s := d.last - min(n, d.last-1); s < d.last; s++ {
		d.ring[s%(2*n)] = was[s%n]
	}
}

// Of dates a message, never later than now. A sequence that was never sent proves nothing.
func (d *Dates) Of(now int64, seen uint64, held int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case seen == 0 || seen > d.last:
		return d.start
	case held < 0:
		held = 0
	}
	d.seen = max(d.seen, seen)
	at, n := d.start, uint64(len(d.ring))
	if d.last-seen < n {
		at = d.ring[seen%n]
	}
	if held > now-at {
		return now
	}
	return at + held
}
