package dialect

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

var wallClock = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sample is an answer of testdata: invented, in the shape of what the family sends.
type sample struct {
	Status  int
	Headers map[string]string
	Body    json.RawMessage
}

func load(t *testing.T, name string) (int, http.Header, []byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s sample
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	for k, v := range s.Headers {
		h.Set(k, v)
	}
	return s.Status, h, s.Body
}

func TestAnswersMeanWhatStatusAndBodySayTogether(t *testing.T) {
	for name, want := range map[string]route.Outcome{
		"openai-success":                {Kind: route.Served, Status: 200, HasUsage: true, Usage: money.Usage{Input: 41, Output: 9}},
		"openai-rate-limited":           {Kind: route.Limited, Status: 429, RetryAfter: 19_874_000, Detail: "429 rate_limit_exceeded"},
		"openai-slow-down":              {Kind: route.Limited, Status: 429, RetryAfter: 5_000_000, Detail: "429 slow_down"},
		"openai-quota-exhausted":        {Kind: route.Unauthorized, Status: 429, Detail: "429 insufficient_quota"},
		"openai-server-error":           {Kind: route.Faulted, Status: 503, RetryAfter: 3_000_000, Detail: "503 server_is_overloaded"},
		"openai-context-length":         {Kind: route.TooLong, Status: 400, Detail: "400 context_length_exceeded"},
		"openai-content-filter":         {Kind: route.Filtered, Status: 400, Detail: "400 content_policy_violation"},
		"vllm-success":                  {Kind: route.Served, Status: 200, HasUsage: true, Usage: money.Usage{Input: 41, Output: 9}},
		"vllm-context-length":           {Kind: route.TooLong, Status: 400, Detail: "400 BadRequestError"},
		"vllm-context-length-old-shape": {Kind: route.TooLong, Status: 400, Detail: "400 BadRequestError"},
		"vllm-model-not-found":          {Kind: route.Missing, Status: 404, Detail: "404 NotFoundError"},
		"vllm-queue-full":               {Kind: route.Faulted, Status: 503, Detail: "503 ServiceUnavailableError"},
		"vllm-rate-limited":             {Kind: route.Limited, Status: 429, RetryAfter: 1_000_000, Detail: "429 rate_limit_exceeded"},
		"vllm-server-error":             {Kind: route.Faulted, Status: 500, Detail: "500 InternalServerError"},
	} {
		status, h, body := load(t, name)
		if diff := cmp.Diff(want, Answer(status, h, body, wallClock)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestFailureByStatusAndBody(t *testing.T) {
	for _, c := range []struct {
		rule   string
		status int
		body   string
		want   route.OutcomeKind
	}{
		{"a bad key", 401, `{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}`, route.Unauthorized},
		{"a country or a permission", 403, `{}`, route.Unauthorized},
		{"payment required", 402, ``, route.Unauthorized},
		{"out of credit as a plain 400", 400, `{"error":{"message":"Your credit balance is too low to continue."}}`, route.Unauthorized},
		{"out of credit as a 400 code", 400, `{"error":{"code":"insufficient_quota"}}`, route.Unauthorized},
		{"a plain 400", 400, `{"error":{"message":"temperature: not a number","code":null}}`, route.Refused},
		{"a validation error that echoes 429", 400, `{"error":{"message":"token ids [429, 503] are bad"}}`, route.Refused},
		{"a parameter check that looks like the context", 400, `{"error":{"message":"maximum context length is","code":"string_above_max_length"}}`, route.Refused},
		{"one request above the whole limit per minute", 429, `{"error":{"message":"Request too large for m on tokens per min (TPM)","code":"rate_limit_exceeded"}}`, route.TooLong},
		{"a body that is too large", 413, `<html>`, route.TooLong},
		{"a missing page: no such API there", 404, `{"detail":"Not Found"}`, route.Missing},
		{"something else missing", 404, `{"error":{"message":"no such file","code":"file_not_found"}}`, route.Refused},
		{"a missing model", 404, `{"error":{"code":"model_not_found"}}`, route.Missing},
		{"a model that is gone", 410, ``, route.Missing},
		{"the server's own time-out", 408, ``, route.Faulted},
		{"semantic failure", 422, `{}`, route.Refused},
		{"a full tier", 498, `{"error":{"code":"capacity_exceeded"}}`, route.Limited},
		{"a redirect", 307, ``, route.Faulted},
		{"an overloaded provider", 529, `{"type":"error","error":{"type":"overloaded_error"}}`, route.Faulted},
		{"no JSON", 502, `<html>bad gateway</html>`, route.Faulted},
		{"an error that is a text", 400, `{"error":"no"}`, route.Refused},
	} {
		if got := Failure(c.status, http.Header{}, []byte(c.body), wallClock); got.Kind != c.want || got.Status != c.status {
			t.Errorf("%s: %v with status %d, want %v with %d", c.rule, got.Kind, got.Status, c.want, c.status)
		}
	}
}

func TestSuccessNeedsMoreThanAStatus(t *testing.T) {
	for _, c := range []struct {
		rule, body string
		kind       route.OutcomeKind
		status     int
	}{
		{"an error in a 200 is an error", `{"error":{"message":"x","type":"server_error"}}`, route.Faulted, 502},
		{"with the status that its code says", `{"error":{"message":"x","code":429}}`, route.Limited, 429},
		{"and its flat shape too", `{"object":"error","message":"x","type":"InternalServerError","code":500}`, route.Faulted, 500},
		{"half an answer is none", `{"choices":[{"mess`, route.Faulted, 200},
		{"a list is none", `[]`, route.Faulted, 200},
		{"an answer without choices is none", `{"object":"chat.completion"}`, route.Faulted, 200},
		{"a filter's end is no success", `{"choices":[{"finish_reason":"content_filter"}]}`, route.Filtered, 200},
		{"a member of an odd type is only left out", `{"choices":[{"finish_reason":"stop"}],"usage":"none"}`, route.Served, 200},
	} {
		if got := Answer(200, http.Header{}, []byte(c.body), wallClock); got.Kind != c.kind || got.Status != c.status {
			t.Errorf("%s: %v with status %d, want %v with %d", c.rule, got.Kind, got.Status, c.kind, c.status)
		}
	}
}

func TestADetailHasNamesOnly(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"the prompt","type":"a \"quoted\" type\n","code":{"x":1}}}`: "400",
		`{"error":{"message":"the prompt","type":"key_error","code":"sk-proj-4bQ"}}`:     "400 key_error",
		`{"error":{"message":"the prompt","type":"line\nline","code":null}}`:             "400",
		`{"error":{"code":"` + strings.Repeat("x", 49) + `"}}`:                           "400",
		`{"error":{"code":"400","type":"BadRequestError"}}`:                              "400 BadRequestError",
	} {
		if o := Failure(400, http.Header{}, []byte(body), wallClock); o.Detail != want {
			t.Errorf("%s: detail %q, want %q", body, o.Detail, want)
		}
	}
}

func TestARequestIDIsOneShortWord(t *testing.T) {
	for id, want := range map[string]string{
		"req_5b1f0c7a": "req_5b1f0c7a", "a b": "", "a\x1b[2J": "", "é": "", strings.Repeat("x", 128): strings.Repeat("x", 128), strings.Repeat("x", 129): "",
	} {
		if got := RequestID(http.Header{"X-Request-Id": {id}}); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

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

func TestUsageFitsTogether(t *testing.T) {
	for body, want := range map[string]money.Usage{
		`{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":6,"cache_write_tokens":2}}`:  {Input: 10, Cached: 6, Written: 2, Output: 3},
		`{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":null}`:                                        {Input: 10, Output: 3},
		`{"prompt_tokens":5,"completion_tokens":-3,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":2}}`: {Input: 5, Cached: 5},
		`{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807}`:                                  {Input: maxTokens, Output: maxTokens},
		`{"prompt_tokens":1e40,"completion_tokens":3}`:                                                                   {Output: 3},
	} {
		var u usage
		_ = json.Unmarshal([]byte(body), &u) // as far as it can be read
		if diff := cmp.Diff(want, u.money()); diff != "" {
			t.Errorf("%s:\n%s", body, diff)
		}
	}
}
