package dialect

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

var wallClock = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestRetryAfterInEveryForm(t *testing.T) {
	for _, c := range []struct {
		rule   string
		header map[string]string
		want   int64
	}{
		{"milliseconds first", map[string]string{"retry-after-ms": "1500.5", "retry-after": "9"}, 1_500_500},
		{"seconds", map[string]string{"retry-after": "2"}, 2_000_000},
		{"decimal seconds", map[string]string{"retry-after": "0.25"}, 250_000},
		{"a date, by the answer's own clock", map[string]string{"retry-after": "Sun, 01 Mar 2026 10:00:07 GMT", "date": "Sun, 01 Mar 2026 10:00:00 GMT"}, 7_000_000},
		{"a date, by ours", map[string]string{"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30_000_000},
		{"a date that has passed", map[string]string{"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0},
		{"nothing", nil, 0},
		{"nonsense", map[string]string{"retry-after": "soon"}, 0},
		{"no number", map[string]string{"retry-after": "NaN"}, 0},
		{"without end", map[string]string{"retry-after": "Inf"}, 0},
		{"negative", map[string]string{"retry-after": "-5"}, 0},
		{"zero", map[string]string{"retry-after-ms": "0"}, 0},
		{"a day", map[string]string{"retry-after": "86400"}, 86_400_000_000},
		{"beyond reason", map[string]string{"retry-after": "86401"}, 0},
		{"a moment of time, taken for a wait", map[string]string{"retry-after": "1767000000"}, 0},
		{"a date beyond reason", map[string]string{"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 0},
		{"more digits than a number has", map[string]string{"retry-after": strings.Repeat("9", 400)}, 0},
		{"milliseconds beyond reason leave the seconds", map[string]string{"retry-after-ms": "1e300", "retry-after": "2"}, 2_000_000},
		{"hexadecimal", map[string]string{"retry-after": "0x10"}, 0},
		{"with a unit", map[string]string{"retry-after": "20s"}, 0},
		{"two of them", map[string]string{"retry-after": "3, 5"}, 0},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		if got := retryAfter(h, wallClock); got != c.want {
			t.Errorf("%s: %d, want %d", c.rule, got, c.want)
		}
	}
}

func TestWaitsInProse(t *testing.T) {
	const second = 1_000_000
	for message, want := range map[string]int64{
		"Please try again in 19.874s.":                           19_874_000,
		"Please retry in 10h17m5.7s":                             10*3600*second + 17*60*second + 5_700_000,
		"Please retry after 37 seconds.":                         37 * second,
		"Rate limit. Try again in 250ms":                         250_000,
		"please try again in 6m0s. Visit":                        360 * second,
		"try again in 2 minutes 5 seconds":                       125 * second,
		"retry after 7":                                          7 * second,
		"retry after 7.":                                         7 * second,
		"retry after 7 apples":                                   0,
		"retry after 1 minute 7 apples":                          60 * second,
		"try again in a while":                                   0,
		"try again in 3 days":                                    0,
		"retry after 90000 seconds":                              0,
		"retry after 1.2.3s":                                     0,
		"429 tokens in 5s":                                       0,
		strings.Repeat("x", mostProse) + "try again in 5s":       0,
		"retry after " + strings.Repeat("9", 500) + " seconds":   0,
		"retry after " + strings.Repeat("1h", 200) + " or never": 0,
		"": 0,
	} {
		f := openai.read(fmt.Appendf(nil, `{"error":{"message":%q}}`, message))
		if got := f.wait(); got != want {
			t.Errorf("%q: %d, want %d", message, got, want)
		}
	}
}
