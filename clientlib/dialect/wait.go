package dialect

import (
	"net/http"
	"strconv"
	"time"
)

// maxWait bounds what an answer may ask for: no provider's window is longer, and what
// lies beyond is a mistake.
const maxWait = 24 * int64(time.Hour/time.Microsecond)

// retryAfter is how long an answer asks to wait, µs; 0: it does not say. Milliseconds
// are preferred, then seconds, then a date by the answer's own clock.
func retryAfter(h http.Header, now time.Time) int64 {
	if wait := amount(h.Get("Retry-After-Ms"), time.Millisecond); wait > 0 {
		return wait
	}
	after := h.Get("Retry-After")
	if wait := amount(after, time.Second); wait > 0 {
		return wait
	}
	at, err := http.ParseTime(after)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent
	}
	return bounded(float64(at.Sub(now).Microseconds()))
}

// amount reads a decimal number of units, in µs.
func amount(text string, unit time.Duration) int64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return bounded(n * float64(unit.Microseconds()))
}

func bounded(us float64) int64 {
	if us > 0 && us <= float64(maxWait) {
		return int64(us)
	}
	return 0
}
