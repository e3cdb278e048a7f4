package clientlib_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// C4: what a fallback has against a request is not what the call failed of.
func TestARefusalOfTheFallbackDoesNotHideTheFailure(t *testing.T) {
	for _, c := range []struct {
		rule, body string
		code       string // that the caller is told
		a, b       play
		decisions  []string
		status     int
	}{
		{"it cannot take the request", streamed, "server_error", failing(503, "server_error"), failing(400, "prefill_not_supported"), []string{"a faulted", "b refused"}, 503},
		{"its window is too small", streamed, "rate_limit_exceeded", failing(429, "rate_limit_exceeded"), failing(400, "context_length_exceeded"), []string{"a limited", "b too_long"}, 429},
		{"it lacks the model", plain, "server_error", failing(500, "server_error"), failing(404, "model_not_found"), []string{"a faulted", "b missing"}, 500},
		{"it refuses inside its stream", streamed, "server_error", failing(503, "server_error"), streams(`data: {"error":{"message":"x","code":"prefill_not_supported","type":"invalid_request_error"}}` + "\n\n"), []string{"a faulted", "b refused"}, 503},
		{"it cannot take what broke as a stream", streamed, "endpoint_failed", streams(roleEvent, errReset), failing(400, "prefill_not_supported"), []string{"a faulted", "b refused"}, 502},
		{"what was late is told as late", streamed, "timed_out", silent, failing(400, "prefill_not_supported"), []string{"a timed_out", "b refused"}, 504},
		{"but it may fail for itself", plain, "slow_down", failing(500, "server_error"), failing(429, "slow_down"), []string{"a faulted", "b limited"}, 429},
		{"the first one's own refusal is told", plain, "bad", failing(400, "bad"), nil, []string{"a refused"}, 400},
	} {
		onStage(t, nil, func(s *stage) {
			s.at("a", c.a)
			if c.b != nil {
				s.at("b", c.b)
			}
			resp, got, err := s.chat(c.body)
			if err != nil || resp.StatusCode != c.status || code(s.t, got) != c.code {
				s.t.Errorf("%s: %d %s %v", c.rule, resp.StatusCode, got, err)
			}
			s.decided(c.decisions...)
		})
	}
	for kind, hides := range map[clientlib.OutcomeKind]bool{clientlib.Refused: true, clientlib.TooLong: true, clientlib.Missing: true, clientlib.Faulted: false} {
		onStage(t, nil, func(s *stage) {
			first, second := errors.New("first"), errors.New("second")
			_, err := clientlib.Do(s.t.Context(), s.Workload("chat"), clientlib.Request{}, where(map[string]error{
				"a": &clientlib.Fault{Outcome: clientlib.Outcome{Kind: clientlib.Faulted}, Err: first},
				"b": &clientlib.Fault{Outcome: clientlib.Outcome{Kind: kind}, Err: second},
			}))
			if errors.Is(err, first) != hides || errors.Is(err, second) == hides {
				s.t.Errorf("Do, %v: %v", kind, err)
			}
		})
	}
}

// D2, D5: what fails before content is tried elsewhere in the same way, by every API, streamed or
// not, passed on or held, for every tenant; and by Do.
func TestEveryWayInFallsBackAlike(t *testing.T) {
	tenanted := func(g *staging) {
		g.catalog.Tenants = []route.Tenant{clienttest.Tenant("acme"), clienttest.Tenant("other")}
	}
	for _, w := range ways {
		for _, stream := range []bool{false, w.says != ""} {
			for i, f := range w.failures(stream) {
				for rule, set := range map[string]func(*staging){"passed on": tenanted, "held": func(g *staging) { tenanted(g); whole(g) }} {
					onStage(t, func(g *staging) { set(g); speaking(w.dialect, w.api)(g) }, func(s *stage) {
						s.at("a", f.how)
						s.at("b", w.good(stream))
						resp, got, err := s.read(s.ask(s.t.Context(), w.path, w.body(stream), append([]string{"X-Pointsman-Tenant", "acme"}, w.headers...)...))
						if err != nil || resp.StatusCode != 200 || got != w.told(stream) {
							s.t.Errorf("%s, %s, failure %d of stream %v: %d %q %v", w.api, rule, i, stream, resp.StatusCode, got, err)
						}
						s.decided("a "+f.kind, "b served")
					})
				}
			}
		}
	}
	for rule, a := range map[string]play{"faulted": failing(500, "server_error"), "limited": failing(429, "rate_limit_exceeded"), "missing": failing(404, "model_not_found")} {
		for _, stream := range []bool{false, true} {
			onStage(t, tenanted, func(s *stage) {
				s.at("a", a)
				_, err := clientlib.Do(s.t.Context(), s.Workload("chat"), clientlib.Request{Tenant: "acme", API: "openai.chat", Stream: stream}, s.byHand)
				if err != nil {
					s.t.Errorf("%s by Do: %v", rule, err)
				}
				s.decided("a "+rule, "b served")
			})
		}
	}
}

// byHand sends what an attempt asks for, as an application would.
func (s *stage) byHand(ctx context.Context, a clientlib.Attempt) (string, error) {
	if a.API() != "openai.chat" {
		return "", fmt.Errorf("asked for %q", a.API())
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Endpoint().BaseURL+"/chat/completions", strings.NewReader(plain))
	if err != nil {
		return "", err
	}
	resp, err := s.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	kinds := map[int]clientlib.OutcomeKind{429: clientlib.Limited, 404: clientlib.Missing, 500: clientlib.Faulted}
	if kind, failed := kinds[resp.StatusCode]; failed {
		return "", &clientlib.Fault{Outcome: clientlib.Outcome{Kind: kind, Status: resp.StatusCode}}
	}
	return string(b), nil
}

// D3, D6: an error that is the first thing to read, or that comes after events which say nothing
// yet, comes before content: it is tried elsewhere.
func TestAnErrorBeforeContentIsTriedElsewhereWhateverCameFirst(t *testing.T) {
	const (
		chatError = `data: {"error":{"message":"x","code":"insufficient_quota"}}` + "\n\n"
		chatLimit = `data: {"error":{"message":"x","code":"rate_limit_exceeded"}}` + "\n\n"
		meta      = `data: {"id":"x","object":"chat.completion.chunk","choices":[]}` + "\n\n"
	)
	for _, c := range []struct {
		rule, dialect, api, path string
		events                   []any
		first                    string
		good                     []any
	}{
		{"a limit at the first read", "openai", "openai.chat", "/chat/completions", []any{chatLimit}, "a limited", []any{oneEvent, doneEvent}},
		{"no credit after metadata", "openai", "openai.chat", "/chat/completions", []any{meta, roleEvent, chatError}, "a unauthorized", []any{oneEvent, doneEvent}},
		{"a failure after response.created", "openai", "openai.responses", "/responses", []any{responseStart, responseFails}, "a faulted", []any{responseStart, responseText, responseEnd}},
		{"an overload after message_start", "anthropic", "anthropic.messages", "/messages", []any{messageStart, messagePing, messageBlock, messageError}, "a faulted", []any{messageStart, messageText, messageDelta, messageStop}},
		{"a cut after message_start", "anthropic", "anthropic.messages", "/messages", []any{messageStart, errReset}, "a faulted", []any{messageStart, messageText, messageDelta, messageStop}},
	} {
		onStage(t, speaking(c.dialect, c.api), func(s *stage) {
			s.at("a", streams(c.events...))
			s.at("b", streams(c.good...))
			resp, body, err := s.read(s.ask(s.t.Context(), c.path, streamed))
			if err != nil || resp.StatusCode != 200 || !strings.Contains(body, "one") || strings.Contains(body, "error\":{") {
				s.t.Errorf("%s: %d %q %v", c.rule, resp.StatusCode, body, err)
			}
			s.decided(c.first, "b served")
		})
	}
}

// An attempt says which of the workload's APIs its endpoint is to be asked for.
func TestAnAttemptSaysWhichAPIItsEndpointTakes(t *testing.T) {
	onStage(t, func(g *staging) {
		g.catalog.Workloads[0].APIs = []string{"openai.chat", "anthropic.messages"}
		g.catalog.Endpoints[0].APIs, g.catalog.Endpoints[0].Dialect = []string{"anthropic.messages"}, "anthropic"
		g.catalog.Endpoints[1].APIs = []string{"openai.embeddings", "openai.chat"}
	}, func(s *stage) {
		var asked []string
		_, _ = clientlib.Do(s.t.Context(), s.Workload("chat"), clientlib.Request{}, func(_ context.Context, a clientlib.Attempt) (int, error) {
			asked = append(asked, a.Endpoint().Name+" "+a.API())
			return 0, errBroken
		})
		if diff := cmp.Diff([]string{"a anthropic.messages", "b openai.chat"}, asked); diff != "" {
			s.t.Error(diff)
		}
		if got := s.Attempts()[0].API; got != "anthropic.messages" {
			s.t.Errorf("told of %q", got)
		}
		a, err := s.Workload("chat").Pick(clientlib.Request{API: "openai.chat"})
		if err != nil || a.API() != "openai.chat" {
			s.t.Errorf("%q %v", a.API(), err)
		}
		a.Abandon()
	})
}
