package uplink

import "sync"

// remembered is how many sends keep their times. What a parent has seen last is younger
// than that, unless it reads nothing.
const remembered = 256

// dates remembers when each message was sent, to date what comes down (rule 9): a message
// was sent no earlier than the send it has seen, plus the time its sender then held it.
// Its arrival says nothing, for it may have been frozen on the way.
type dates struct {
	mu    sync.Mutex
	start int64  // when the first was sent: a lower bound of all
	last  uint64 // sequence
	ring  [remembered]int64
}

// sent notes the next send and gives its sequence number, from 1.
func (d *dates) sent(now int64) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == 0 {
		d.start = now
	}
	d.last++
	d.ring[d.last%remembered] = now
	return d.last
}

// of dates a message, never later than now. A sequence that was never sent proves nothing.
func (d *dates) of(now int64, seen uint64, held int64) int64 {
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
