package wire

import "sync"

// remembered is how many sends keep their times. What the other side has seen last is
// younger than that, unless it reads nothing.
const remembered = 256

// Dates remembers when each message of a stream was sent, to date what the other side
// says (protocol.md, rule 9): a message was sent no earlier than the send it has seen, plus
// the time its sender then held it. Its arrival says nothing, for it may have been frozen
// on the way. It is safe for concurrent use.
type Dates struct {
	mu    sync.Mutex
	start int64  // when the stream began: a lower bound of all
	last  uint64 // sequence
	ring  [remembered]int64
}

// NewDates are those of a stream that begins now.
func NewDates(now int64) *Dates { return &Dates{start: now} }

// Sent notes the next send and gives its sequence number, from 1.
func (d *Dates) Sent(now int64) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	d.ring[d.last%remembered] = now
	return d.last
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
	at := d.start
	if d.last-seen < remembered {
		at = d.ring[seen%remembered]
	}
	if held > now-at {
		return now
	}
	return at + held
}
