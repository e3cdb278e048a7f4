package wire

import "math"

// oldest is an age beyond any, in µs.
const oldest = 1 << 60

// Age is an age from outside as it can be used: not negative, for nothing is dated later
// than it was sent, and so that sums with it stay in range and do not come out young again.
func Age(us int64) int64 { return min(max(us, 0), oldest) }

// dateOf is the date of what was age µs old at now. 0 means "not dated", so no date is 0.
func dateOf(now, age int64) int64 {
	at := plus(now, -Age(age))
	if at == 0 {
		return -1
	}
	return at
}

// made is when a row was made. What is not dated is older than anything: it is stale.
func made(e Entry) int64 {
	if e.At == 0 {
		return math.MinInt64 / 2
	}
	return e.At
}

// ageOf is how old at is now; what lies ahead has no age.
func ageOf(now, at int64) int64 { return max(0, minus(now, at)) }

// remaining is how long until is away; past: 0.
func remaining(now, until int64) int64 { return max(0, minus(until, now)) }

// plus adds and stays within int64: ages and durations come from outside.
func plus(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

func minus(a, b int64) int64 {
	if b == math.MinInt64 {
		return plus(plus(a, math.MaxInt64), 1)
	}
	return plus(a, -b)
}
