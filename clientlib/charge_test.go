package clientlib_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/limit"
)

// metered is endpoint a alone, whose account gives so many tokens a minute.
func metered(tokens int64) func(*staging) {
	return func(g *staging) {
		quota := clienttest.Quota("org")
		quota.Tokens, quota.Hold = tokens, true
		g.catalog.Quotas = []route.Quota{quota}
		g.catalog.Endpoints, g.catalog.Workloads[0].Tiers = g.catalog.Endpoints[:1], g.catalog.Workloads[0].Tiers[:1]
		g.catalog.Endpoints[0].Quotas = []string{"org"}
		g.config.Queue = -1
	}
}

// left is what the account has.
func (s *stage) left() int64 { return s.Quotas()[0].Remaining }

const (
	spends  = `"usage":{"prompt_tokens":100,"completion_tokens":400}`
	capped  = `{"model":"chat","max_tokens":400,"messages":[{"role":"user","content":"hi"}]}`
	cappedS = `{"model":"chat","stream":true,"max_tokens":400,"messages":[{"role":"user","content":"hi"}]}`
)

// E1: what streams use counts against the account's tokens, as it does for whole answers.
func TestTokensOfStreamsReachTheAccountsLimit(t *testing.T) {
	for body, how := range map[string]play{
		cappedS: streams(oneEvent, stopEvent, `data: {"choices":[],`+spends+"}\n\n", doneEvent),
		capped:  says(200, `{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}],`+spends+`}`),
	} {
		onStage(t, metered(20_000), func(s *stage) {
			s.at("a", how)
			served := 0
			for range 10 {
				resp, _, err := s.chat(body)
				if err != nil {
					s.t.Error(err)
				}
				if resp.StatusCode == 200 {
					served++
				}
			}
			if served != 2 || s.last().Outcome.Usage.Output != 400 { // a burst is 1,000 tokens, and no time passes
				s.t.Errorf("%d served: %s", served, body)
			}
		})
	}
}

// E16, E17: what was reserved for an answer and not used is given back, however it ended.
func TestWhatWasReservedAndNotUsedIsGivenBack(t *testing.T) {
	const large = `"max_tokens":1000,"messages":[{"role":"user","content":"hi"}]}`
	for _, c := range []struct {
		rule, body string
		how        play
		left       int64 // tokens of the burst of 5,000, no time has passed
	}{
		{"a whole answer", `{"model":"chat",` + large, says(200, goodBody), 5000 - 6},
		{"a stream to its end", `{"model":"chat","stream":true,` + large, streams(oneEvent, stopEvent, usageEvent, doneEvent), 5000 - 6},
		{"a stream that is cut after 10", `{"model":"chat","stream":true,` + large, streams(parts(times(10, oneEvent), errReset)...), -10},
		{"a stream that the caller leaves after 10", `{"model":"chat","stream":true,` + large, streams(parts(times(10, oneEvent), forever)...), -10},
	} {
		onStage(t, metered(100_000), func(s *stage) {
			s.at("a", c.how)
			resp, err := s.ask(s.t.Context(), "/chat/completions", c.body)
			if err != nil {
				s.t.Fatal(err)
			}
			if during := s.left(); c.rule != "a whole answer" && during > 4500 {
				s.t.Errorf("%s: %d left while it streams", c.rule, during)
			}
			b := make([]byte, 10*len(oneEvent))
			for n := 0; n < len(b); {
				m, err := resp.Body.Read(b[n:])
				if n += m; err != nil {
					break
				}
			}
			if !strings.Contains(c.rule, "leaves") {
				for err == nil {
					_, err = resp.Body.Read(b)
				}
			}
			resp.Body.Close()
			want := c.left
			if want < 0 { // what the library estimated of the prompt, and a token an event
				want += 5000 - s.last().Outcome.Usage.Input
			}
			if got := s.left(); got != want || s.last().Outcome.Usage.Input > 20 {
				s.t.Errorf("%s: %d left, want %d: %+v", c.rule, got, want, s.last().Outcome)
			}
		})
	}
}

// What an answer's headers tell of an account binds, good answers' too.
func TestWhatAnswersTellOfLimitsIsHeard(t *testing.T) {
	for _, c := range []struct {
		rule string
		how  play
	}{
		{"a good answer", says(200, goodBody, "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "20")},
		{"a stream", answering(200, "text/event-stream", []string{"X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "20"}, []any{oneEvent, stopEvent, doneEvent})},
	} {
		body := capped
		if c.rule == "a stream" {
			body = cappedS
		}
		onStage(t, metered(1_000_000), func(s *stage) {
			s.at("a", c.how)
			for i, want := range []int{200, 429} {
				if resp, got, err := s.chat(body); err != nil || resp.StatusCode != want {
					s.t.Errorf("%s: call %d: %d %s %v", c.rule, i+1, resp.StatusCode, got, err)
				}
			}
			time.Sleep(21 * time.Second)
			if resp, got, err := s.chat(body); err != nil || resp.StatusCode != 200 {
				s.t.Errorf("%s: later: %d %s %v", c.rule, resp.StatusCode, got, err)
			}
			if q := s.Quotas()[0]; q.Dimension != limit.Tokens {
				s.t.Errorf("%+v", q)
			}
		})
	}
}

// E2: a stream that its caller leaves frees its place at once.
func TestAStreamThatIsLeftFreesItsPlace(t *testing.T) {
	onStage(t, func(g *staging) {
		tenant := clienttest.Tenant("default")
		tenant.Caps.Concurrency = 1
		g.catalog.Tenants, g.config.Queue = []route.Tenant{tenant}, -1
	}, func(s *stage) {
		s.at("a", streams(oneEvent, forever), hello)
		resp, err := s.ask(s.t.Context(), "/chat/completions", streamed)
		if err != nil {
			s.t.Fatal(err)
		}
		if second, _, err := s.chat(plain); err != nil || second.StatusCode != 429 {
			s.t.Errorf("%d %v beside it", second.StatusCode, err)
		}
		resp.Body.Close()
		if second, _, err := s.chat(plain); err != nil || second.StatusCode != 200 {
			s.t.Errorf("%d %v after it", second.StatusCode, err)
		}
		var shed *clientlib.ShedError
		if len(s.calls()) != 3 || !errors.As(s.calls()[0].Err, &shed) {
			s.t.Errorf("%+v", s.calls())
		}
	})
}
