package limit

import "math/bits"

const (
	coolFirst = second // when nothing was said, doubling
	coolMost  = 60 * second
	coolLeast = second // of the spread and of the ramp, else a tenth
	coolCap   = day
	steps     = 8 // between two requests of a ramp: an 8th of what is left of it
)

// cooldown keeps all out until a time, then lets them in one by one, faster and faster.
type cooldown struct {
	until  int64
	ramped int64 // the end of the ramp
	next   int64 // of the ramp's requests
}

// Cool keeps all out for a time that a provider asked for (0: it did not say), and a little
// more by a draw, so that not all come back at once; never for less than before. It tells
// whether a cooldown began.
func (q *Quota) Cool(now int64, draw uint32, after int64) (began bool) {
	began = q.until <= now
	if began { // the refusals of one burst are one
		q.streak = min(q.streak, 254) + 1
	}
	if after <= 0 {
		after = min(coolMost, coolFirst<<min(max(q.streak, 1)-1, 6))
	}
	return q.cool(now, draw, after)
}

// Served ends a streak of cooldowns.
func (q *Quota) Served() { q.streak = 0 }

func (q *Quota) cool(now int64, draw uint32, after int64) (began bool) {
	after = min(after, coolCap)
	spread := max(coolLeast, after/10)
	until := now + after + upTo(draw, spread)
	if until <= q.until {
		return false
	}
	began = q.until <= now
	q.until, q.ramped, q.next = until, until+spread, until
	q.marks |= easing
	return began
}

// CooledUntil is when the last cooldown ends, or ended.
func (q *Quota) CooledUntil() int64 { return q.until }

// EasedAt is when its ramp ends, or ended.
func (q *Quota) EasedAt() int64 { return q.ramped }

// Cooling tells whether a cooldown, or the ramp after it, keeps the next request out.
func (q *Quota) Cooling(now int64) bool { return q.marks&easing != 0 && now < q.OpensAt(now) }

// OpensAt is when a cooldown and its ramp let the next request in.
func (q *Quota) OpensAt(now int64) int64 {
	if now >= q.ramped {
		return now
	}
	return max(now, q.next)
}

// Pace tells a ramp of a request that was taken of another part of the limit.
func (q *Quota) Pace(now int64) {
	if q.marks&easing != 0 {
		q.pace(now)
	}
}

// pace puts the ramp's next request off.
func (q *Quota) pace(now int64) {
	if now >= q.ramped {
		q.marks &^= easing
		return
	}
	from := max(now, q.until)
	q.next = from + (q.ramped-from)/steps
}

// upTo is a part of a time by a draw: ⌊draw·most ÷ 2³²⌋.
func upTo(draw uint32, most int64) int64 {
	hi, lo := bits.Mul64(uint64(draw), uint64(max(most, 0)))
	return int64(hi<<32 | lo>>32)
}
