package clientlib_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

func TestAnAnswerComesAsItWasGiven(t *testing.T) {
	r := setUp(t)
	resp, body, err := r.answer(plain)
	if err != nil || resp.StatusCode != 200 || !strings.Contains(body, "hello world") {
		t.Errorf("%d %s %v", resp.StatusCode, body, err)
	}
	if name := resp.Header.Get(clientlib.EndpointHeader); name != "a" {
		t.Errorf("from %q", name)
	}
	r.decided("a served")
	got := r.Attempts()[0]
	if want := (clientlib.Usage{Input: 10, Output: 2}); got.Outcome.Usage != want || !got.Outcome.HasUsage {
		t.Errorf("usage %+v", got.Outcome)
	}
	if got.Workload != "chat" || got.Number != 1 || got.Total <= 0 || got.Catalog.Revision != 1 {
		t.Errorf("%+v", got)
	}
}

func TestNothingOfTheCallerGoesAlong(t *testing.T) {
	r := setUp(t)
	_, _, err := r.answer(`{"model":"other","messages":[]}`,
		"Authorization", "Bearer caller", "Api-Key", "caller", "X-Api-Key", "caller", "Cookie", "a=b", "OpenAI-Organization", "org-1",
		"X-Pointsman-Workload", "chat", "X-Pointsman-Tenant", "default", "X-Pointsman-Other", "x", "Accept-Encoding", "br", "Traceparent", "00-1-2-3")
	if err != nil {
		t.Fatal(err)
	}
	q := r.a.Requests()[0]
	for name := range q.Header {
		switch name {
		case "Accept", "Accept-Encoding", "Content-Length", "Content-Type", "Traceparent", "User-Agent":
		default:
			t.Errorf("%s: %q was sent on", name, q.Header.Values(name))
		}
	}
	if q.Model != "model-at-a" || q.Header.Get("Accept-Encoding") != "gzip" || q.Header.Get("Traceparent") == "" {
		t.Errorf("model %q, header %v", q.Model, q.Header)
	}
}

func TestForwardNeverNamesACredential(t *testing.T) {
	r := setUp(t)
	r.http = &http.Client{Transport: r.Transport(clientlib.TransportConfig{Forward: []string{"X-Mine", "Authorization", "x-api-key", "X-Pointsman-Tenant"}})}
	if _, _, err := r.answer(plain, "X-Mine", "1", "Authorization", "Bearer caller", "X-Api-Key", "caller"); err != nil {
		t.Fatal(err)
	}
	h := r.a.Requests()[0].Header
	if h.Get("X-Mine") != "1" || h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" {
		t.Errorf("%v", h)
	}
}

func TestACallersHeaderFailsNoEndpoint(t *testing.T) {
	r := setUp(t)
	if _, _, err := r.answer(plain, "X-Request-Id", "a\r\nX-Evil: 1", "User-Agent", "a\x00b", "Traceparent", "good"); err != nil {
		t.Fatal(err)
	}
	r.decided("a served")
	if h := r.a.Requests()[0].Header; h.Get("X-Request-Id") != "" || h.Get("X-Evil") != "" || h.Get("Traceparent") != "good" {
		t.Errorf("%v", h)
	}
}

func TestAStreamComesWhileItIsGiven(t *testing.T) {
	r := setUp(t)
	r.a.Next(clienttest.Stall("one"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := r.post(ctx, streamed)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := io.ReadAtLeast(resp.Body, b, 100)
	if err != nil || text(string(b[:n])) != "one" || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%q, %v", b[:n], err)
	}
	resp.Body.Close()
	r.decided("a cancelled")
	if got := r.Attempts()[0].Outcome; got.Usage != (clientlib.Usage{Input: 8, Output: 1}) {
		t.Errorf("what the caller had of it: %+v", got)
	}
}

func TestUsageOfAStreamIsAlwaysKnownAndOnlyShownWhenAskedFor(t *testing.T) {
	for body, shown := range map[string]bool{
		streamed: false,
		`{"model":"chat","stream":true,"stream_options":{"include_usage":true},"messages":[]}`: true,
	} {
		r := setUp(t)
		_, got, err := r.answer(body)
		if err != nil || text(got) != "hello world" || !strings.HasSuffix(got, "data: [DONE]\n\n") {
			t.Errorf("%q, %v", got, err)
		}
		if strings.Contains(got, "prompt_tokens") != shown {
			t.Errorf("%s: %s", body, got)
		}
		r.decided("a served")
		a := r.Attempts()[0]
		if a.Outcome.Usage != (clientlib.Usage{Input: 10, Output: 2}) || a.FirstToken <= 0 || a.FirstToken > a.Total {
			t.Errorf("%+v", a)
		}
	}
}

func TestWhatFailsBeforeContentIsTriedElsewhere(t *testing.T) {
	for _, c := range []struct {
		rule    string
		answer  clienttest.Answer
		outcome string
		streams bool // has no meaning for whole answers
	}{
		{"a server error", clienttest.Fail(500, "server_error"), "faulted", false},
		{"an overload", clienttest.Fail(503, "server_is_overloaded", "Retry-After", "3"), "faulted", false},
		{"a rate limit", clienttest.Fail(429, "rate_limit_exceeded"), "limited", false},
		{"a spent account", clienttest.Fail(429, "insufficient_quota"), "unauthorized", false},
		{"a bad key", clienttest.Fail(401, "invalid_api_key"), "unauthorized", false},
		{"a missing model", clienttest.Fail(404, "model_not_found"), "missing", false},
		{"a lost connection", clienttest.Cut(), "faulted", false},
		{"an error in a 200", clienttest.Events(`{"error":{"message":"x","code":"rate_limit_exceeded"}}`), "limited", true},
		{"an error after a benign event", clienttest.Break("insufficient_quota"), "unauthorized", true},
		{"an end without its mark", clienttest.Stop(), "faulted", true},
		{"no stream at all", clienttest.Fail(200, "odd"), "faulted", false},
	} {
		for _, body := range []string{plain, streamed} {
			if body == plain && c.streams {
				continue
			}
			r := setUp(t, keys)
			r.a.Next(c.answer)
			resp, got, err := r.answer(body)
			if err != nil || resp.StatusCode != 200 || !strings.Contains(got, "hello") {
				t.Errorf("%s: %d %s %v", c.rule, resp.StatusCode, got, err)
			}
			r.decided("a "+c.outcome, "b served")
		}
	}
}

func TestARefusedConnectionIsAFailureOfTheEndpoint(t *testing.T) {
	r := setUp(t, func(_ *rig, c *route.Catalog, _ *clientlib.Config) {
		gone := httptest.NewServer(nil)
		gone.Close()
		c.Endpoints[0].BaseURL = gone.URL
	})
	if resp, body, err := r.answer(plain); err != nil || resp.StatusCode != 200 {
		t.Errorf("%d %s %v", resp.StatusCode, body, err)
	}
	r.decided("a faulted", "b served")
}

func TestWhatIsTheCallersIsNotTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answer  clienttest.Answer
		status  int
		outcome string
	}{
		"bad request": {clienttest.Fail(400, "bad"), 400, "refused"},
		"filter":      {clienttest.Fail(400, "content_policy_violation"), 400, "filtered"},
		"no page":     {clienttest.Fail(404, "nothing"), 404, "refused"},
	} {
		r := setUp(t)
		r.a.Next(c.answer)
		resp, body, err := r.answer(streamed)
		if err != nil || resp.StatusCode != c.status || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %v %s %v", name, resp.StatusCode, resp.Header, body, err)
		}
		code(t, body)
		r.decided("a " + c.outcome)
	}
}

func TestTheLastErrorIsTheAnswer(t *testing.T) {
	r := setUp(t)
	r.a.Always(clienttest.Fail(500, "first"))
	r.b.Always(clienttest.Fail(503, "second", "Retry-After", "2"))
	resp, body, err := r.answer(plain)
	if err != nil || resp.StatusCode != 503 || code(t, body) != "second" || resp.Header.Get("Retry-After") != "2" || resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%d %v %s %v", resp.StatusCode, resp.Header, body, err)
	}
	r.decided("a faulted", "b faulted")
}

func TestAnErrorInAStreamBeforeContentIsAnErrorAnswer(t *testing.T) {
	r := setUp(t)
	r.a.Always(clienttest.Break("server_error"))
	r.b.Always(clienttest.Break("rate_limit_exceeded"))
	resp, body, err := r.answer(streamed)
	if err != nil || resp.StatusCode != 429 || code(t, body) != "rate_limit_exceeded" || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %v %s %v", resp.StatusCode, resp.Header, body, err)
	}
}

func TestAStreamThatBreaksAfterContentIsNeverACleanEnd(t *testing.T) {
	for _, c := range []struct {
		rule    string
		answer  clienttest.Answer
		outcome string
		shown   string // in what the caller gets
	}{
		{"cut", clienttest.Cut("one", " two"), "faulted", "two"},
		{"ended without its mark", clienttest.Stop("one", " two"), "faulted", "two"},
		{"an error, which is passed on", clienttest.Break("server_error", "one", " two"), "faulted", `"code":"server_error"`},
		{"a limit, likewise", clienttest.Break("rate_limit_exceeded", "one", " two"), "limited", `"code":"rate_limit_exceeded"`},
		{"stalled", clienttest.Stall("one", " two"), "timed_out", "two"},
	} {
		r := setUp(t, limits(func(a *route.Attempts) {
			if c.outcome == "timed_out" {
				a.Stall = 30_000
			}
		}))
		r.a.Next(c.answer)
		_, body, err := r.answer(streamed)
		var broke *clientlib.StreamError
		if !errors.As(err, &broke) {
			t.Errorf("%s: %v after %s", c.rule, err, body)
			continue
		}
		if broke.Endpoint != "a" || broke.Events != 2 || broke.Bytes != int64(len(body)) || !strings.Contains(body, c.shown) {
			t.Errorf("%s: %+v after %s", c.rule, broke, body)
		}
		r.decided("a " + c.outcome)
		if u := r.Attempts()[0].Outcome.Usage; u.Output != 2 {
			t.Errorf("%s: usage %+v", c.rule, u)
		}
		r.sent(r.b, 0)
	}
}

func TestAStallNamesItsLimit(t *testing.T) {
	r := setUp(t, limits(func(a *route.Attempts) { a.Stall = 30_000 }))
	r.a.Next(clienttest.Stall("one"))
	_, _, err := r.answer(streamed)
	var limit *clientlib.LimitError
	if !errors.As(err, &limit) || limit.Limit != "stall" || limit.After != 30*time.Millisecond {
		t.Errorf("%v", err)
	}
}

func TestAMalformedEventAloneDoesNotBreakAStream(t *testing.T) {
	r := setUp(t)
	r.a.Next(clienttest.Events(`{"choices":[{"delta":{"content":"one"}}]}`, `{oops`, `{"choices":[{"delta":{"content":" two"}}]}`, `[DONE]`))
	_, body, err := r.answer(streamed)
	if err != nil || text(body) != "one two" {
		t.Errorf("%s %v", body, err)
	}
	r.decided("a served")
}

func TestAContentFiltersEndIsNotServed(t *testing.T) {
	r := setUp(t)
	r.a.Next(clienttest.Events(`{"choices":[{"delta":{"content":"one"},"finish_reason":"content_filter"}]}`, `[DONE]`))
	if _, body, err := r.answer(streamed); err != nil || text(body) != "one" {
		t.Errorf("%s %v", body, err)
	}
	r.decided("a filtered")
}

func TestAStreamHeldToItsEndIsAnsweredElsewhere(t *testing.T) {
	whole := func(_ *rig, c *route.Catalog, _ *clientlib.Config) { c.Workloads[0].Whole = true }
	r := setUp(t, whole)
	r.a.Next(clienttest.Cut("one", " two"))
	_, body, err := r.answer(streamed)
	if err != nil || text(body) != "hello world" {
		t.Errorf("%s %v", body, err)
	}
	r.decided("a faulted", "b served")
}

func TestLimitsBlameTheEndpoint(t *testing.T) {
	for _, c := range []struct {
		rule, body string
		answer     clienttest.Answer
		set        func(*route.Attempts)
	}{
		{"no first token", streamed, clienttest.Hang(), func(a *route.Attempts) { a.FirstToken = 600_000 }},
		{"no first token after the header", streamed, clienttest.Stall(), func(a *route.Attempts) { a.FirstToken = 600_000 }},
		{"no answer", plain, clienttest.Hang(), func(a *route.Attempts) { a.Answer = 600_000 }},
	} {
		r := setUp(t, limits(c.set))
		r.a.Next(c.answer)
		resp, body, err := r.answer(c.body)
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %d %s %v", c.rule, resp.StatusCode, body, err)
		}
		r.decided("a timed_out", "b served")
	}
}

func TestTheTotalLimitEndsInATimeOut(t *testing.T) {
	r := setUp(t, limits(func(a *route.Attempts) { a.Total = 40_000 }))
	r.a.Always(clienttest.Hang())
	resp, body, err := r.answer(plain)
	if err != nil || resp.StatusCode != 504 || code(t, body) != "timed_out" {
		t.Errorf("%d %s %v", resp.StatusCode, body, err)
	}
	r.decided("a timed_out")
}

func TestACallersOwnEndBlamesNobody(t *testing.T) {
	for _, body := range []string{plain, streamed} {
		r := setUp(t)
		r.a.Always(clienttest.Hang())
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
		resp, err := r.post(ctx, body)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v %v", resp, err)
		}
		r.decided("a cancelled")
		r.sent(r.b, 0)
	}
}

func TestACancelledStreamIsCancelled(t *testing.T) {
	r := setUp(t)
	r.a.Next(clienttest.Stall("one"))
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := r.post(ctx, streamed)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cancel()
	_, err = io.ReadAll(resp.Body)
	var broke *clientlib.StreamError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &broke) {
		t.Errorf("%v", err)
	}
	r.decided("a cancelled")
}

func TestNoRedirectIsFollowed(t *testing.T) {
	elsewhere := clienttest.Start("elsewhere")
	defer elsewhere.Close()
	r := setUp(t)
	redirect := func(e *clienttest.Endpoint) {
		e.Always(clienttest.Fail(307, "moved", "Location", elsewhere.URL+"/chat/completions"))
	}
	redirect(r.a)
	redirect(r.b)
	resp, _, err := r.answer(plain)
	if err != nil || resp.StatusCode != 307 || resp.Header.Get("Location") != "" {
		t.Errorf("%d %v %v", resp.StatusCode, resp.Header, err)
	}
	r.decided("a faulted", "b faulted")
	r.sent(elsewhere, 0)
}

func TestWhatCannotBeServedSaysWhy(t *testing.T) {
	tenants := func(_ *rig, c *route.Catalog, _ *clientlib.Config) {
		c.Tenants = []route.Tenant{{Name: "acme", Workloads: []string{"*"}, Caps: route.NoCaps()}, {Name: "poor", Caps: route.NoCaps()}}
	}
	drained := func(_ *rig, c *route.Catalog, _ *clientlib.Config) {
		for _, e := range c.Endpoints {
			c.Overrides = append(c.Overrides, route.Override{Endpoint: e.Name, Drain: true, Weight: route.Absent})
		}
	}
	none := func(*rig, *route.Catalog, *clientlib.Config) {}
	for _, c := range []struct {
		rule, body string
		change     func(*rig, *route.Catalog, *clientlib.Config)
		headers    []string
		status     int
		code       string
	}{
		{"an unknown workload", `{"model":"nope"}`, none, nil, 404, "model_not_found"},
		{"no workload", `{}`, none, nil, 404, "model_not_found"},
		{"no JSON", `oops`, none, nil, 400, "invalid_body"},
		{"an absurd number", `{"model":"chat","max_tokens":9000000000000}`, none, nil, 400, "bad_request"},
		{"a tenant that may not", plain, tenants, []string{"X-Pointsman-Tenant", "poor"}, 403, "shed_tenant"},
		{"a tenant that may", plain, tenants, []string{"X-Pointsman-Tenant", "acme"}, 200, ""},
		{"all drained", plain, drained, nil, 503, ""},
	} {
		r := setUp(t, c.change)
		resp, body, err := r.answer(c.body, c.headers...)
		if err != nil || resp.StatusCode != c.status {
			t.Errorf("%s: %d %s %v", c.rule, resp.StatusCode, body, err)
		}
		if c.status == 200 {
			continue
		}
		if got := code(t, body); c.code != "" && got != c.code {
			t.Errorf("%s: code %q", c.rule, got)
		}
		if resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %v", c.rule, resp.Header)
		}
		if c.rule == "all drained" && !strings.Contains(body, `"counts":{"drained":2}`) {
			t.Errorf("%s: %s", c.rule, body)
		}
		r.decided()
	}
}

func TestALimitedPoolSaysWhenToComeBack(t *testing.T) {
	r := setUp(t)
	r.a.Always(clienttest.Fail(429, "rate_limit_exceeded", "Retry-After", "45"))
	r.b.Always(clienttest.Fail(429, "rate_limit_exceeded", "Retry-After", "60"))
	resp, body, err := r.answer(plain)
	if err != nil || resp.StatusCode != 429 || code(t, body) != "rate_limit_exceeded" {
		t.Errorf("%d %s %v", resp.StatusCode, body, err)
	}
	resp, body, err = r.answer(plain)
	if err != nil || resp.StatusCode != 429 || code(t, body) != "shed_limited" || !strings.Contains(body, `"quota_cooldown":2`) {
		t.Errorf("%d %s %v", resp.StatusCode, body, err)
	}
	if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || after < 40 || after > 60 {
		t.Errorf("Retry-After %v", resp.Header)
	}
	r.decided("a limited", "b limited")
}

func TestTheTenantOfAContext(t *testing.T) {
	r := setUp(t, func(_ *rig, c *route.Catalog, _ *clientlib.Config) {
		c.Tenants = []route.Tenant{{Name: "acme", Workloads: []string{"chat"}, Caps: route.NoCaps()}}
	})
	resp, err := r.post(clientlib.WithTenant(t.Context(), "acme"), plain)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	resp.Body.Close()
	if got := r.Attempts()[0].Tenant; got != "acme" {
		t.Errorf("tenant %q", got)
	}
}

func TestAnswersThatAreHeldAreBounded(t *testing.T) {
	r := setUp(t)
	r.http = &http.Client{Transport: r.Transport(clientlib.TransportConfig{MaxAnswer: 64})}
	resp, body, err := r.answer(plain)
	if err != nil || resp.StatusCode != 502 || !strings.Contains(body, "an answer above 64 bytes") {
		t.Errorf("%d %s %v", resp.StatusCode, body, err)
	}
	r.decided("a faulted", "b faulted")
}

func TestNothingElseIsServed(t *testing.T) {
	r := setUp(t)
	for _, q := range []struct{ method, path string }{
		{http.MethodGet, "/v1/models"}, {http.MethodHead, "/v1/models"}, {http.MethodPost, "/v1/completions"}, {http.MethodGet, "/v1/responses/resp_1"},
		{http.MethodGet, "/v1/chat/completions"}, {http.MethodPost, "/v1/chat/completions/x"}, {http.MethodPost, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), q.method, "https://api.invalid"+q.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := r.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 404 || code(t, string(body)) != "unsupported_path" || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%v: %v %s %v", q, resp, body, err)
		}
		resp.Body.Close()
	}
	r.sent(r.a, 0)
}

func TestConnectionsAreKept(t *testing.T) {
	r := setUp(t)
	for range 3 {
		if _, _, err := r.answer(streamed); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.answer(plain); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.a.Connections(); got != 1 {
		t.Errorf("%d connections for 6 requests in a row", got)
	}
}
