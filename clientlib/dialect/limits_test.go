package dialect

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route/limit"
)

// left and resetting are what a header of limit says.
func left(n int64) limit.Header { return limit.Header{HasRemaining: true, Remaining: n} }

func resetting(n, us int64) limit.Header {
	return limit.Header{HasRemaining: true, Remaining: n, HasReset: true, Reset: us}
}

func TestLimitsInEveryForm(t *testing.T) {
	const second = 1_000_000
	type dims = map[limit.Dimension]limit.Header
	for _, c := range []struct {
		rule, dialect string
		headers       string // name value, a line each
		want          dims
	}{
		{"nothing said", "openai", "content-type text/html", nil},
		{"OpenAI's", "openai", "x-ratelimit-limit-requests 5000\nx-ratelimit-remaining-requests 4999\nx-ratelimit-reset-requests 12ms\nx-ratelimit-remaining-tokens 799871\nx-ratelimit-reset-tokens 1m2.5s",
			dims{limit.Requests: resetting(4999, 12_000), limit.Tokens: resetting(799_871, 62_500_000)}},
		{"of two buckets the emptier", "openai", "x-ratelimit-remaining-tokens 800\nx-ratelimit-remaining-tokens_usage_based 700\nx-ratelimit-reset-tokens_usage_based 1s",
			dims{limit.Tokens: resetting(700, second)}},
		{"nothing left until full is nothing left for now", "openai", "x-ratelimit-limit-requests 500\nx-ratelimit-remaining-requests 0\nx-ratelimit-reset-requests 1m0s\nx-ratelimit-remaining-tokens 0\nx-ratelimit-reset-tokens 6m0s",
			dims{limit.Requests: left(0), limit.Tokens: left(0)}},
		{"requests that take a day to refill are a day's", "openai", "x-ratelimit-limit-requests 10000\nx-ratelimit-remaining-requests 9999\nx-ratelimit-reset-requests 8.64s",
			dims{limit.Daily: resetting(9999, 8_640_000)}},
		{"and Groq's", "openai-compatible", "x-ratelimit-limit-requests 14400\nx-ratelimit-remaining-requests 14370\nx-ratelimit-reset-requests 2m59.56s\nx-ratelimit-remaining-tokens 17997\nx-ratelimit-reset-tokens 7.66s",
			dims{limit.Daily: resetting(14370, 179_560_000), limit.Tokens: resetting(17997, 7_660_000)}},
		{"all of them spent", "openai-compatible", "x-ratelimit-limit-requests 1000\nx-ratelimit-remaining-requests 0\nx-ratelimit-reset-requests 23h59m1s",
			dims{limit.Daily: left(0)}},
		{"what takes no minute's time needs no limit to be a day's", "openai", "x-ratelimit-remaining-requests 5\nx-ratelimit-reset-requests 7m12s",
			dims{limit.Daily: resetting(5, 432*second)}},
		{"the smallest unit", "openai", "x-ratelimit-reset-tokens 500us", dims{limit.Tokens: {HasReset: true, Reset: 500}}},
		{"none gone", "openai", "x-ratelimit-limit-requests 5\nx-ratelimit-remaining-requests 5\nx-ratelimit-reset-requests 1ms",
			dims{limit.Requests: resetting(5, 1000)}},
		{"left without a reset", "openai", "x-ratelimit-remaining-tokens 5", dims{limit.Tokens: left(5)}},
		{"a reset without what is left", "openai", "x-ratelimit-reset-tokens 5s", dims{limit.Tokens: {HasReset: true, Reset: 5 * second}}},
		{"odd values are unknown", "openai", "x-ratelimit-remaining-requests many\nx-ratelimit-reset-requests soon\nx-ratelimit-remaining-tokens 1.5\nx-ratelimit-reset-tokens -1s", nil},
		{"below zero is unknown", "openai", "x-ratelimit-remaining-tokens -1\nx-ratelimit-reset-tokens 0", nil},
		{"a reset beyond reason too", "openai", "x-ratelimit-remaining-tokens 7\nx-ratelimit-reset-tokens 25h", dims{limit.Tokens: left(7)}},
		{"more than can be counted", "openai", "x-ratelimit-remaining-tokens 9223372036854775807", dims{limit.Tokens: left(mostLeft)}},
		{"more digits than a number has", "openai", "x-ratelimit-remaining-tokens " + strings.Repeat("9", 30) + "\nx-ratelimit-reset-tokens " + strings.Repeat("9", 400), nil},

		{"Azure's seconds are a window's", "azure-openai", "x-ratelimit-limit-requests 300\nx-ratelimit-remaining-requests 12\nx-ratelimit-reset-requests 8\nx-ratelimit-remaining-tokens 0\nx-ratelimit-reset-tokens 37",
			dims{limit.Requests: resetting(12, 8*second), limit.Tokens: resetting(0, 37*second)}},
		{"and are no day's, however few are gone", "azure-openai", "x-ratelimit-limit-requests 30000\nx-ratelimit-remaining-requests 29999\nx-ratelimit-reset-requests 59",
			dims{limit.Requests: resetting(29999, 59*second)}},
		{"its responses API counts nothing", "azure-openai", "x-ratelimit-remaining-requests -1\nx-ratelimit-reset-requests -1\nx-ratelimit-remaining-tokens 0\nx-ratelimit-reset-tokens 0", nil},

		{"Anthropic's moments, by the answer's clock", "anthropic", "date Mon, 05 Jan 2026 12:00:00 GMT\nanthropic-ratelimit-requests-remaining 999\nanthropic-ratelimit-requests-reset 2026-01-05T12:00:01Z\n" +
			"anthropic-ratelimit-tokens-remaining 95000\nanthropic-ratelimit-tokens-reset 2026-01-05T13:00:03+01:00\nanthropic-ratelimit-input-tokens-remaining 0\nanthropic-ratelimit-input-tokens-reset 2026-01-05T12:00:14Z\nanthropic-ratelimit-output-tokens-remaining 16000",
			dims{limit.Requests: resetting(999, second), limit.Tokens: resetting(95000, 3*second), limit.Input: left(0), limit.Output: left(16000)}},
		{"by ours, and one that has passed", "anthropic", "anthropic-ratelimit-requests-remaining 9\nanthropic-ratelimit-requests-reset 2026-03-01T12:00:30.5Z\nanthropic-ratelimit-tokens-remaining 8\nanthropic-ratelimit-tokens-reset 2026-03-01T11:00:00Z",
			dims{limit.Requests: resetting(9, 30_500_000), limit.Tokens: left(8)}},

		{"Mistral's, by size", "openai-compatible", "x-ratelimitbysize-limit-minute 500000\nx-ratelimitbysize-remaining-minute 467993\nratelimitbysize-reset 40",
			dims{limit.Tokens: resetting(467_993, 40*second)}},
		{"Mistral's now", "openai-compatible", "x-ratelimit-remaining-req-minute 59\nx-ratelimit-remaining-tokens-minute 47196",
			dims{limit.Requests: left(59), limit.Tokens: left(47_196)}},
		{"Together's", "openai-compatible", "x-ratelimit-limit 10\nx-ratelimit-remaining 9\nx-ratelimit-reset 1\nx-tokenlimit-remaining 0\nx-tokenlimit-reset 0.5",
			dims{limit.Requests: resetting(9, second), limit.Tokens: resetting(0, 500_000)}},
		{"seconds since 1970", "openai-compatible", "x-ratelimit-remaining 0\nx-ratelimit-reset 1772366407",
			dims{limit.Requests: resetting(0, 7*second)}},
		{"milliseconds since 1970 are none", "openai-compatible", "x-ratelimit-reset 1772366407000", nil},

		{"vLLM tells none", "vllm", "x-ratelimit-remaining-requests 5", nil},
		{"nor does plain http", "http", "x-ratelimit-remaining-requests 5", nil},
	} {
		h := http.Header{}
		for line := range strings.Lines(c.headers) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			h.Set(name, value)
		}
		got, ok := Of(c.dialect).Limits(h, wallClock)
		var want limit.Headers
		for d, told := range c.want {
			want.Of[d] = told
		}
		if diff := cmp.Diff(want, got); diff != "" || ok != (len(c.want) > 0) {
			t.Errorf("%s: %v\n%s", c.rule, ok, diff)
		}
	}
}

func FuzzLimits(f *testing.F) {
	f.Add("4999", "12ms", "5000", "Sun, 01 Mar 2026 10:00:07 GMT")
	f.Add("0", "2026-03-01T12:00:30.5Z", "0", "")
	f.Add("-1", "1772366407", "9223372036854775807", "x")
	f.Add("1", "1h1h1 seconds", ".", "")
	f.Fuzz(func(t *testing.T, remaining, reset, most, date string) {
		for _, d := range dialects {
			h := http.Header{"Date": {date}, "Retry-After": {reset}, "Retry-After-Ms": {remaining}, "Request-Id": {most}, "X-Request-Id": {most}}
			for _, c := range d.counters {
				h[c.limit], h[c.remaining], h[c.reset] = []string{most}, []string{remaining}, []string{reset}
			}
			told, ok := d.Limits(h, wallClock)
			for i, is := range told.Of {
				if is.Remaining < 0 || is.Remaining > mostLeft || is.Reset < 0 || is.Reset > maxWait || is.HasReset != (is.Reset > 0) || !ok && (is.HasRemaining || is.HasReset) {
					t.Errorf("%s: %v: %+v, %v", d.name, limit.Dimension(i), is, ok)
				}
			}
			if wait := retryAfter(h, wallClock); wait < 0 || wait > maxWait {
				t.Errorf("%s: wait %d", d.name, wait)
			}
			if id := d.RequestID(h); id != "" && !word(id) {
				t.Errorf("%s: id %q", d.name, id)
			}
		}
	})
}
