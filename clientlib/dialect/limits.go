package dialect

import (
	"net/http"
	"strconv"
	"time"

	"github.com/pointsman/pointsman/clientlib/route/limit"
)

// counter is where answers tell what is left of one limit.
type counter struct {
	of                      limit.Dimension
	limit, remaining, reset string // headers, as net/http writes them
	vague                   bool   // nothing left, and no reset, is said where there is no limit
}

const (
	mostLeft = 1 << 40 // can be left of a limit: limit counts no further
	minute   = 60_000_000
	hour     = 60 * minute
)

// Limits is what an answer's headers tell of limits; false: nothing. At is the caller's to
// set; wall is the wall clock.
func (d *Dialect) Limits(h http.Header, wall time.Time) (told limit.Headers, ok bool) {
	now := clock{h: h, now: wall}
	for i := range d.counters {
		of, is := d.counters[i].read(h, &now)
		if !is.HasRemaining && !is.HasReset {
			continue
		}
		ok = true
		if was := &told.Of[of]; !was.HasRemaining || is.HasRemaining && is.Remaining < was.Remaining {
			*was = is // of two buckets the emptier
		}
	}
	return told, ok
}

// read is what an answer tells of one limit, and which dimension that is.
//
// With nothing left, a reset that says when the whole bucket is full again is left out:
// the next request fits far sooner. The bucket refills at its own rate then, and where
// that does not do, the refusal's Retry-After says how long.
func (c *counter) read(h http.Header, now *clock) (of limit.Dimension, is limit.Header) {
	left, hasLeft := amount(first(h, c.remaining))
	reset, fills := resets(first(h, c.reset), now)
	if hasLeft && (left > 0 || reset > 0 || !c.vague) {
		is.HasRemaining, is.Remaining = true, left
	}
	if reset > 0 && !(fills && is.HasRemaining && left == 0) {
		is.HasReset, is.Reset = true, reset
	}
	if c.of == limit.Requests && fills {
		if most, _ := amount(first(h, c.limit)); daily(most, most-left, reset) {
			return limit.Daily, is
		}
	}
	return c.of, is
}

// daily tells a day's bucket from a minute's, by how long what is gone takes to refill:
// providers name both alike. OpenAI's smaller accounts and Groq count requests by the day.
func daily(most, gone, reset int64) bool {
	return reset > minute || gone > 0 && float64(reset)*float64(most) > float64(gone)*hour
}

// amount reads what is left; one below zero is said where there is no limit.
func amount(text string) (n int64, ok bool) {
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return min(n, mostLeft), err == nil && n >= 0
}

// since2001 tells seconds since 1970 from a number of seconds to wait.
const since2001 = 1e9

// resets is how long a reset is off, µs; 0: unknown. A moment, or a time with a unit
// ("6m0s"), is when the whole bucket is full (OpenAI, Groq, Anthropic); a number is when a
// window ends (Azure, Mistral, Together).
func resets(text string, now *clock) (us int64, fills bool) {
	if text == "" {
		return 0, false
	}
	if n, rest := number(text); rest == "" {
		if n >= since2001 && n < 100*since2001 {
			return now.until(time.UnixMicro(int64(n * 1e6))), false
		}
		return bounded(n * 1e6), false
	}
	if wait, rest := duration(text); rest == "" {
		return bounded(wait), true
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, false
	}
	return now.until(at), true
}
