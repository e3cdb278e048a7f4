package dialect

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxWait bounds what an answer may ask for, µs: no provider's window is longer, and what
// lies beyond is a mistake.
const maxWait = 24 * int64(time.Hour/time.Microsecond)

// retryAfter is how long an answer asks to wait, µs; 0: it does not say. Milliseconds
// are preferred, then seconds, then a date.
func retryAfter(h http.Header, wall time.Time) int64 {
	if wait := plainNumber(first(h, "Retry-After-Ms"), time.Millisecond); wait > 0 {
		return wait
	}
	after := first(h, "Retry-After")
	if wait := plainNumber(after, time.Second); wait > 0 || after == "" {
		return wait
	}
	at, err := http.ParseTime(after)
	if err != nil {
		return 0
	}
	c := clock{h: h, now: wall}
	return c.until(at)
}

// clock is an answer's own where it tells one, else ours. Its header is read once, and
// only for a moment.
type clock struct {
	h   http.Header
	now time.Time
}

// until is how far off a moment is, µs; 0: it has passed, or is beyond reason.
func (c *clock) until(at time.Time) int64 {
	if c.h != nil {
		if sent, err := http.ParseTime(first(c.h, "Date")); err == nil {
			c.now = sent
		}
		c.h = nil
	}
	return bounded(float64(at.Sub(c.now).Microseconds()))
}

// plainNumber is a decimal number of units, in µs.
func plainNumber(text string, unit time.Duration) int64 {
	n, rest := number(text)
	if rest != "" {
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

// leads are the words before a wait in what an error tells people.
var leads = [...]string{"try again in ", "retry in ", "retry after ", "try again after "}

// wait is how long the error's message asks to wait, µs; 0: it does not say. A number
// without a unit is of seconds.
func (f *failure) wait() int64 {
	for _, lead := range leads {
		if _, after, ok := strings.Cut(f.prose, lead); ok {
			us, _ := duration(after)
			return bounded(us)
		}
	}
	return 0
}

// duration reads how long something takes from the start of a text: "6m0s", "7.66s", "37
// seconds", or a number alone, of seconds. It gives µs, and what follows.
func duration(text string) (us float64, rest string) {
	rest = text
	for {
		n, after := number(strings.TrimPrefix(rest, " "))
		unit, beyond := letters(strings.TrimPrefix(after, " "))
		size := units(unit)
		switch {
		case size > 0:
			us, rest = us+float64(n*size), beyond
		case us == 0 && unit == "":
			return n * 1e6, after
		default:
			return us, rest
		}
	}
}

// number reads digits, with a point or without; none: text comes back as rest.
func number(text string) (n float64, rest string) {
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.') {
		end++
	}
	if end == 0 {
		return 0, text
	}
	n, err := strconv.ParseFloat(text[:end], 64)
	if err != nil {
		return 0, text
	}
	return n, text[end:]
}

func letters(text string) (word, rest string) {
	end := 0
	for end < len(text) && text[end] >= 'a' && text[end] <= 'z' {
		end++
	}
	return text[:end], text[end:]
}

// units is how many µs a unit has; 0: it is none.
func units(name string) float64 {
	switch name {
	case "us":
		return 1
	case "ms", "millisecond", "milliseconds":
		return 1e3
	case "s", "sec", "second", "seconds":
		return 1e6
	case "m", "min", "minute", "minutes":
		return 60e6
	case "h", "hour", "hours":
		return 3600e6
	}
	return 0
}
