package clientlib_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

// Each API goes where, and as, its dialect says, and comes back as it was given.
func TestEachAPIGoesWhereItsDialectSays(t *testing.T) {
	for _, c := range []struct {
		dialect, api, path, body, answer string
		url, key, sent                   string // what a sees
		usage                            clientlib.Usage
	}{
		{"openai", "openai.chat", "/chat/completions", plain, goodBody, "https://a.test/v1/chat/completions", "Authorization", `"model":"model-at-a"`, clientlib.Usage{Input: 4, Output: 2}},
		{"openai", "openai.responses", "/responses", `{"model":"chat","input":"hi"}`, responseBody, "https://a.test/v1/responses", "Authorization", `"model":"model-at-a"`, clientlib.Usage{Input: 30, Cached: 10, Output: 7}},
		{"vllm", "openai.embeddings", "/embeddings", `{"model":"chat","input":"hi"}`, vectorBody, "https://a.test/v1/embeddings", "Authorization", `"model":"model-at-a"`, clientlib.Usage{Input: 8}},
		{"anthropic", "anthropic.messages", "/messages", `{"model":"chat","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`, messageBody, "https://a.test/v1/messages", "X-Api-Key", `"model":"model-at-a"`, clientlib.Usage{Input: 12, Cached: 7, Output: 2}},
		{"azure-openai", "openai.chat", "/chat/completions", plain, goodBody, "https://a.test/v1/openai/deployments/model-at-a/chat/completions?api-version=2025-01-01", "Api-Key", `"hi"`, clientlib.Usage{Input: 4, Output: 2}},
	} {
		onStage(t, func(g *staging) {
			speaking(c.dialect, c.api)(g)
			e := &g.catalog.Endpoints[0]
			e.Credential, e.APIVersion = "key", "2025-01-01"
			g.config.Credentials = map[string]clientlib.Credential{"key": {Source: func(context.Context) (string, error) { return "secret-of-a", nil }, Hosts: []string{"a.test"}}}
		}, func(s *stage) {
			s.at("a", says(200, c.answer, "X-Request-Id", "req_1", "Request-Id", "req_1", "Apim-Request-Id", "req_1"))
			resp, body, err := s.read(s.ask(s.t.Context(), c.path, c.body, "Authorization", "Bearer caller", "X-Api-Key", "caller"))
			if err != nil || resp.StatusCode != 200 || body != c.answer || resp.Header.Get(clientlib.EndpointHeader) != "a" {
				s.t.Errorf("%s %s: %d %s %v", c.dialect, c.api, resp.StatusCode, body, err)
			}
			got := s.got["a"][0]
			if got.url != c.url || !strings.HasSuffix(got.header.Get(c.key), "secret-of-a") || !strings.Contains(got.body, c.sent) {
				s.t.Errorf("%s %s: sent to %s with %v: %s", c.dialect, c.api, got.url, got.header, got.body)
			}
			s.decided("a served")
			if a := s.last(); a.Outcome.Usage != c.usage || a.Outcome.Estimated || a.API != c.api || a.RequestID != "req_1" {
				s.t.Errorf("%s %s: %+v", c.dialect, c.api, a)
			}
		})
	}
}

func TestStreamsOfEachAPIPassAsTheyCome(t *testing.T) {
	for _, c := range []struct {
		dialect, api, path, body string
		events                   []any
		usage                    clientlib.Usage
		id                       string
	}{
		{"openai", "openai.responses", "/responses", `{"model":"chat","stream":true,"input":"hi"}`, []any{responseStart, responseText, responseEnd}, clientlib.Usage{Input: 30, Cached: 10, Output: 7}, "resp_1"},
		{"anthropic", "anthropic.messages", "/messages", `{"model":"chat","max_tokens":50,"stream":true,"messages":[]}`, []any{messageStart, messageBlock, messagePing, messageText, messageDelta, messageStop}, clientlib.Usage{Input: 25, Output: 15}, "msg_1"},
	} {
		onStage(t, speaking(c.dialect, c.api), func(s *stage) {
			s.at("a", streams(c.events...))
			resp, body, err := s.read(s.ask(s.t.Context(), c.path, c.body))
			var all strings.Builder
			for _, e := range c.events {
				all.WriteString(e.(string))
			}
			if err != nil || resp.StatusCode != 200 || body != all.String() {
				s.t.Errorf("%s: %d %q %v", c.api, resp.StatusCode, body, err)
			}
			s.decided("a served")
			a := s.last()
			if a.Outcome.Usage != c.usage || a.Outcome.Estimated || a.ResponseID != c.id || a.Finish != dialect.Stopped {
				s.t.Errorf("%s: %+v", c.api, a)
			}
		})
	}
}

// What the library itself says has the shape that the SDK of the API asked for can read, and
// tells it that the retries have been made.
func TestErrorsHaveTheShapeOfTheAPIAskedFor(t *testing.T) {
	shed := func(g *staging) {
		g.catalog.Overrides = []route.Override{{Endpoint: "a", Drain: true, Weight: route.Absent}, {Endpoint: "b", Drain: true, Weight: route.Absent}}
	}
	for _, c := range []struct {
		rule, path, body string
		set              func(*staging)
		status           int
		kind, code       string // of error.type and error.code
	}{
		{"chat: no such workload", "/chat/completions", `{"model":"nope"}`, nil, 404, "pointsman_error", "model_not_found"},
		{"responses: no such workload", "/responses", `{"model":"nope"}`, nil, 404, "pointsman_error", "model_not_found"},
		{"embeddings: no JSON", "/embeddings", `oops`, nil, 400, "pointsman_error", "invalid_body"},
		{"messages: no such workload", "/messages", `{"model":"nope"}`, nil, 404, "not_found_error", "model_not_found"},
		{"messages: no JSON", "/messages", `oops`, nil, 400, "invalid_request_error", "invalid_body"},
		{"messages: shed", "/messages", `{"model":"chat"}`, shed, 503, "overloaded_error", "shed_incompatible"},
		{"messages: lost", "/messages", `{"model":"chat"}`, nil, 502, "api_error", "endpoint_failed"},
		{"messages: too late", "/messages", `{"model":"chat","max_tokens":1}`, func(g *staging) { g.catalog.Workloads[0].Attempts.Answer = 1000 }, 504, "timeout_error", "timed_out"},
	} {
		set := func(g *staging) {
			if strings.HasPrefix(c.rule, "messages") {
				speaking("anthropic", "anthropic.messages")(g)
			}
			if c.set != nil {
				c.set(g)
			}
		}
		onStage(t, set, func(s *stage) {
			how := play(lost)
			if c.status == 504 {
				how = silent
			}
			s.at("a", how)
			s.at("b", how)
			resp, body, err := s.read(s.ask(s.t.Context(), c.path, c.body))
			var e struct {
				Type  string
				Error struct{ Type, Code, Message string }
			}
			if err != nil || json.Unmarshal([]byte(body), &e) != nil || resp.StatusCode != c.status || resp.Header.Get("X-Should-Retry") != "false" {
				s.t.Errorf("%s: %d %v %s %v", c.rule, resp.StatusCode, resp.Header, body, err)
			}
			want := ""
			if strings.HasPrefix(c.rule, "messages") {
				want = "error"
			}
			if e.Type != want || e.Error.Type != c.kind || e.Error.Code != c.code || e.Error.Message == "" {
				s.t.Errorf("%s: %s", c.rule, body)
			}
		})
	}
}

// unread is a body that nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("it was read")
	return 0, io.EOF
}

func TestABodyAboveTheBoundIsAnErrorBeforeAnythingIsSent(t *testing.T) {
	bounded := func(g *staging) { g.transport.MaxBody = int64(len(plain)) }
	for rule, body := range map[string]func(*testing.T) (io.Reader, int64){
		"its length is known":   func(t *testing.T) (io.Reader, int64) { return unread{t}, int64(len(plain)) + 1 },
		"its length is not":     func(*testing.T) (io.Reader, int64) { return strings.NewReader(plain + " "), -1 },
		"its length is no more": func(*testing.T) (io.Reader, int64) { return strings.NewReader(plain + " "), int64(len(plain)) },
	} {
		onStage(t, bounded, func(s *stage) {
			from, length := body(s.t)
			r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "https://api.invalid/v1/chat/completions", from)
			if err != nil {
				s.t.Fatal(err)
			}
			r.ContentLength = length
			var above *clientlib.BodyTooLargeError
			if resp, err := s.http.Do(r); !errors.As(err, &above) || above.Limit != int64(len(plain)) {
				s.t.Errorf("%s: %v %v", rule, resp, err)
			}
			s.decided()
		})
	}
	onStage(t, bounded, func(s *stage) {
		if _, body, err := s.chat(plain); err != nil || body != goodBody {
			s.t.Errorf("as large as may be: %s %v", body, err)
		}
	})
}

func TestUsageIsNotAskedOfWhoRefusesThat(t *testing.T) {
	onStage(t, func(g *staging) {
		speaking("azure-openai", "openai.chat")(g)
		g.catalog.Endpoints[0].APIVersion = "2024-06-01"
	}, func(s *stage) {
		s.at("a", streams(roleEvent, oneEvent, twoEvent, stopEvent, doneEvent))
		if _, body, err := s.chat(`{"model":"chat","stream":true,"messages":[]}`); err != nil || !strings.HasSuffix(body, doneEvent) {
			s.t.Errorf("%s %v", body, err)
		}
		if got := s.got["a"][0].body; strings.Contains(got, "stream_options") {
			s.t.Errorf("sent %s", got)
		}
		s.decided("a served")
		if a := s.last(); !a.Outcome.Estimated || a.Outcome.Usage.Output != 2 {
			s.t.Errorf("%+v", a)
		}
	})
}

// opaque is a workload of plain HTTP.
func opaque(g *staging) {
	speaking("http", "http")(g)
	for i := range g.catalog.Endpoints {
		g.catalog.Endpoints[i].BaseURL = "https://" + g.catalog.Endpoints[i].Name + ".test/tools"
	}
}

func TestPlainHTTPGoesAsItCame(t *testing.T) {
	onStage(t, opaque, func(s *stage) {
		s.at("a", says(201, "made"))
		r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, "https://api.invalid/find/a%20b?q=1&q=2", strings.NewReader("<x/>"))
		if err != nil {
			s.t.Fatal(err)
		}
		for name, value := range map[string]string{"X-Pointsman-Workload": "chat", "Content-Type": "text/xml", "Accept": "text/html", "Cookie": "a=b", "Authorization": "Bearer caller"} {
			r.Header.Set(name, value)
		}
		resp, body, err := s.read(s.http.Do(r))
		if err != nil || resp.StatusCode != 201 || body != "made" {
			s.t.Errorf("%d %s %v", resp.StatusCode, body, err)
		}
		got := s.got["a"][0]
		want := sent{"PUT", "https://a.test/tools/find/a%20b?q=1&q=2", "<x/>", http.Header{"Content-Type": {"text/xml"}, "Accept": {"text/html"}}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sent{})); diff != "" {
			s.t.Error(diff)
		}
		if o := s.last().Outcome; o.Kind != clientlib.Served || o.HasUsage {
			s.t.Errorf("%+v", o)
		}
	})
}

// What may not be repeated is sent once; what did not leave may be sent again.
func TestPlainHTTPIsRepeatedOnlyWhereThatDoesNoHarm(t *testing.T) {
	for _, c := range []struct {
		rule, method string
		headers      []string
		first        play
		decisions    []string
		status       int
	}{
		{"a GET may", "GET", nil, says(500, "no"), []string{"a faulted", "b served"}, 200},
		{"a PUT may", "PUT", nil, lost, []string{"a faulted", "b served"}, 200},
		{"a POST may not", "POST", nil, says(500, "no"), []string{"a faulted"}, 500},
		{"nor when its answer is lost", "POST", nil, lost, []string{"a faulted"}, 502},
		{"nor a PATCH", "PATCH", nil, says(500, "no"), []string{"a faulted"}, 500},
		{"a POST with a key may", "POST", []string{"Idempotency-Key", "1"}, says(500, "no"), []string{"a faulted", "b served"}, 200},
	} {
		onStage(t, opaque, func(s *stage) {
			s.at("a", c.first)
			s.at("b", says(200, "yes"))
			r, err := http.NewRequestWithContext(s.t.Context(), c.method, "https://api.invalid/x", strings.NewReader("x"))
			if err != nil {
				s.t.Fatal(err)
			}
			r.Header.Set("X-Pointsman-Workload", "chat")
			for i := 0; i+1 < len(c.headers); i += 2 {
				r.Header.Set(c.headers[i], c.headers[i+1])
			}
			if resp, body, err := s.read(s.http.Do(r)); err != nil || resp.StatusCode != c.status {
				s.t.Errorf("%s: %d %s %v", c.rule, resp.StatusCode, body, err)
			}
			s.decided(c.decisions...)
			if len(s.calls()) != 1 || (s.calls()[0].Err == nil) != (c.status == 200) {
				s.t.Errorf("%s: calls %+v", c.rule, s.calls())
			}
		})
	}
	onStage(t, func(g *staging) {
		opaque(g)
		g.catalog.Endpoints[0].Credential = "key"
		g.config.Credentials = map[string]clientlib.Credential{"key": {Source: func(context.Context) (string, error) { return "", io.EOF }, Hosts: []string{"a.test"}}}
	}, func(s *stage) {
		if resp, _, err := s.read(s.ask(s.t.Context(), "/x", "x", "X-Pointsman-Workload", "chat")); err != nil || resp.StatusCode != 200 {
			s.t.Errorf("nothing was sent: %d %v", resp.StatusCode, err)
		}
		s.decided("a unsent", "b served")
	})
}

// What found no connection has not been sent.
func TestAPlainPOSTThatFoundNoConnectionIsSentElsewhere(t *testing.T) {
	r := setUp(t, func(_ *rig, c *route.Catalog, _ *clientlib.Config) {
		gone := httptest.NewServer(nil)
		gone.Close()
		c.Endpoints[0].BaseURL = gone.URL
		for i := range c.Endpoints {
			c.Endpoints[i].Dialect, c.Endpoints[i].APIs = "http", []string{"http"}
		}
		c.Workloads[0].APIs = []string{"http"}
	})
	if resp, body, err := r.answer(`{"model":"x"}`, "X-Pointsman-Workload", "chat"); err != nil || resp.StatusCode != 200 {
		t.Errorf("%d %s %v", resp.StatusCode, body, err)
	}
	r.decided("a faulted", "b served")
}

func TestACancelledPlainPOSTIsItsCallersEnd(t *testing.T) {
	onStage(t, opaque, func(s *stage) {
		s.at("a", silent)
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		defer cancel()
		if resp, err := s.ask(ctx, "/x", "x", "X-Pointsman-Workload", "chat"); !errors.Is(err, context.DeadlineExceeded) {
			s.t.Errorf("%v %v", resp, err)
		}
		s.decided("a cancelled")
	})
}

func TestAStreamOfPlainHTTPIsPassedOnAsItComes(t *testing.T) {
	onStage(t, opaque, func(s *stage) {
		s.at("a", streams("data: 1\n\n", "event: x\ndata: 2\n\n"))
		if _, body, err := s.read(s.ask(s.t.Context(), "/x", "x", "X-Pointsman-Workload", "chat")); err != nil || body != "data: 1\n\nevent: x\ndata: 2\n\n" {
			s.t.Errorf("%q %v", body, err)
		}
		s.decided("a served")
	})
}
