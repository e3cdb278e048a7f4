// Package limit decides whether a limit has room for one more request, and when it will.
//
// A limit is a quota of a provider's account, a tenant's cap or a reservation: up to five
// dimensions, each a bucket that refills all the time (GCRA: one time per dimension, TAT,
// until when the limit is spent) or, when the provider counts by windows and their edge is
// known, a counter. All is integers: times in µs, amounts in requests and tokens.
//
//	Allows ─▶ Take ─▶ Settle        Headers, Cool, Lease, Cut      Until, Remaining, Reset, Headroom
//
// It keeps no clock and never waits. Times lie within ±2^61, amounts within 0 and 2^40.
package limit

import (
	"math"
	"math/bits"
)

// Dimension is what one limit counts. Its values are stable.
type Dimension uint8

// The dimensions.
const (
	Requests Dimension = iota // a minute
	Tokens                    // a minute, input and output
	Input                     // tokens a minute
	Output                    // tokens a minute
	Daily                     // requests a day
	Dimensions
)

var names = [Dimensions]string{"requests", "tokens", "input", "output", "daily"}

func (d Dimension) String() string {
	if d < Dimensions {
		return names[d]
	}
	return "unknown"
}

// What a dimension's window is, and how much of it a bucket holds.
const (
	second int64 = 1_000_000
	minute       = 60 * second
	day          = 24 * 60 * minute
	part         = 20 // a bucket holds a 20th of a window; under a lease, a second

	// Forever is the time of what never comes.
	Forever int64 = 1<<63 - 1
	far     int64 = 1 << 62 // no TAT is later
)

var windows = [8]int64{minute, minute, minute, minute, day} // 8: an index needs no check

// Use is what one request takes, by dimension: of a day what it takes of a minute.
type Use [Daily]int64

// Request is the use of one request with so many tokens.
func Request(input, output int64) (u Use) {
	u.Set(input, output)
	return u
}

// Set writes a use in place: an array that is returned is copied more than once.
func (u *Use) Set(input, output int64) {
	u[Requests], u[Tokens], u[Input], u[Output] = 1, input+output, input, output
}

func (u *Use) of(d Dimension) int64 { return u[d%Daily] }

// Absent marks a dimension without a limit, where zero refuses all.
const Absent = -1

// Limits are what a quota is declared to be.
type Limits struct {
	Of    [Dimensions]int64 // in a window; Absent: none
	Fixed bool              // by windows that reset
	Hold  bool              // cut off, a lease holds without end
}

// None limits nothing.
func None() Limits {
	return Limits{Of: [Dimensions]int64{Absent, Absent, Absent, Absent, Absent}}
}

// Answer says whether a request may go, or what stands in the way.
type Answer uint8

// The answers.
const (
	Free Answer = iota
	Cooling
	NoRequests
	NoTokens
)

func (a Answer) String() string {
	if a <= NoTokens {
		return [...]string{"free", "cooling", "requests", "tokens"}[a]
	}
	return "unknown"
}

var answers = [Dimensions]Answer{NoRequests, NoTokens, NoTokens, NoTokens, NoRequests}

// Quota is one limit. Its zero value limits nothing. The first three dimensions that it
// has and all that a request needs of them are two cache lines.
type Quota struct {
	n      uint8
	marks  mark
	streak uint8 // of cooldowns without a success between
	kinds  [Dimensions]Dimension
	at     [Dimensions]bucket // of kinds, those that there are

	cooldown
	hold  bool  // cut off, a lease holds without end
	cutAt int64 // since when nobody renews leases; 0: somebody does
	more  *more // when a mark says so
}

// bucket is one dimension.
type bucket struct {
	tat        int64 // until when the limit is spent
	floor      int64 // no refund takes it below
	limit      int64
	reciprocal uint64 // ⌊(2^64 − 1) ÷ limit⌋
	reserved   int64  // by requests that are not settled
}

// more is what buckets alone do not need.
type more struct {
	leases  [Dimensions]lease   // as the buckets
	windows [Dimensions]counter // as the buckets
}

// mark says that more than the buckets counts.
type mark uint8

const (
	easing mark = 1 << iota // a cooldown, or the ramp after it
	leased
	fixed
	shut // a limit is 0
)

// Set declares what the limits are. What was spent stays spent, by time; a dimension that
// is new begins full.
func (q *Quota) Set(now int64, l Limits) {
	was := *q
	q.n, q.marks, q.hold, q.more = 0, q.marks&easing, l.Hold, nil
	if l.Fixed || was.marks&leased != 0 {
		q.more = &more{}
	}
	for d, limit := range l.Of {
		if limit < 0 {
			continue
		}
		i := q.n
		q.n++
		q.kinds[i], q.at[i] = Dimension(d), bucket{tat: now, floor: now}
		if k, ok := was.index(Dimension(d)); ok {
			q.at[i] = was.at[k]
			q.inherit(i, &was, k, l.Fixed)
		}
		q.at[i].limit, q.at[i].reciprocal = limit, math.MaxUint64/uint64(max(limit, 1))
		if limit == 0 {
			q.marks |= shut
		}
	}
	if l.Fixed {
		q.marks |= fixed
	}
}

// Resume takes over what was spent of it at an earlier time, and stays cooled as it is. What was
// reserved then is not waited for.
func (q *Quota) Resume(was *Quota) {
	own, eases := q.cooldown, q.marks&easing
	*q = *was
	q.cooldown, q.marks = own, q.marks&^easing|eases
	for i := range q.at {
		q.at[i].reserved = 0
	}
}

// inherit keeps the lease and the window of a dimension that stays.
func (q *Quota) inherit(i uint8, was *Quota, k int, windowed bool) {
	if was.more == nil || q.more == nil {
		return
	}
	q.more.leases[i] = was.more.leases[k]
	if q.more.leases[i].on() {
		q.marks |= leased
	}
	if windowed {
		q.more.windows[i] = was.more.windows[k]
	}
}

// index finds a dimension's bucket.
func (q *Quota) index(d Dimension) (int, bool) {
	for i := range int(q.n) {
		if q.kinds[i] == d {
			return i, true
		}
	}
	return 0, false
}

// cost is the time in which a limit gives n, rounded up; a limit of 0 never does.
func cost(n, window, limit int64) int64 {
	if n <= 0 {
		return 0
	}
	if limit <= 0 {
		return far
	}
	hi, lo := bits.Mul64(uint64(n), uint64(window))
	lo, borrow := bits.Sub64(lo, 1, 0) // ⌈x÷y⌉ = ⌊(x−1)÷y⌋ + 1
	if hi -= borrow; hi == 0 {
		return int64(min(lo/uint64(limit), uint64(far-1))) + 1
	}
	if hi >= uint64(limit) {
		return far
	}
	whole, _ := bits.Div64(hi, lo, uint64(limit))
	return int64(min(whole, uint64(far-1))) + 1
}

const few = 1 << 24 // of a day's window, they fit 62 bits

// plain tells whether cost will do: nothing but buckets counts, and the use is not huge.
func (q *Quota) plain(use *Use) bool { return q.marks&^easing == 0 && use[Tokens] <= few }

// cost is that of n where all is plain, without a division.
func (b *bucket) cost(n int64, d Dimension) int64 {
	x, limit := uint64(n*windows[d&7]+b.limit-1), uint64(b.limit)
	whole, _ := bits.Mul64(x, b.reciprocal) // or one less
	if x-whole*limit >= limit {
		whole++
	}
	return int64(whole)
}

// Share is n·part ÷ whole, rounded down; part is at most whole.
func Share(n, whole, part int64) int64 { return gives(n, whole, part) }

// gives is what a limit gives in a time, rounded down.
func gives(time, window, limit int64) int64 {
	if time <= 0 || limit <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(time), uint64(limit))
	if hi >= uint64(window) {
		return Forever
	}
	n, _ := bits.Div64(hi, lo, uint64(window))
	return int64(min(n, uint64(Forever)))
}

// later is a sum of times that stays in range: both are at most far.
func later(a, b int64) int64 { return min(a, far-b) + b }
