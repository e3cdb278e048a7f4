package clientlib

import (
	"context"
	"math"
	"time"
)

// clock is a client's: µs since it was opened, monotonic, never 0.
type clock struct{ base time.Time }

func (k clock) now() int64 { return time.Since(k.base).Microseconds() + 1 }

// wall is a moment of the clock as people tell time; 0 is none.
func (k clock) wall(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return k.base.Add(microseconds(us))
}

// apart is how far people's time and the clock may drift before that counts: what depends
// on both is compiled anew then. A suspended machine's do.
const apart = time.Second

// zero is when the clock was 0, µs since 1970 as people tell time now; was, unless that is
// no longer true.
func (k clock) zero(was int64) int64 {
	at := time.Now().UnixMicro() - k.now()
	if microseconds(max(at-was, was-at)) < apart {
		return was
	}
	return at
}

// deadline is the end of ctx on the clock; 0: none.
func (k clock) deadline(ctx context.Context) int64 {
	at, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(k.now()+time.Until(at).Microseconds(), 1)
}

// microseconds is a duration; one that does not fit is the longest.
func microseconds(us int64) time.Duration {
	return time.Duration(min(us, math.MaxInt64/1000)) * time.Microsecond
}

// RetryIn says how long to wait before a call that failed with err has a chance. False:
// err is no shed, or nobody knows.
func (c *Client) RetryIn(err error) (time.Duration, bool) {
	shed := shedOf(err)
	if shed == nil || shed.RetryAt == 0 {
		return 0, false
	}
	return max(microseconds(shed.RetryAt-c.clock.now()), 0), true
}
