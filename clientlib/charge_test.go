package clientlib_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
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
	capped  = `{"model":"chat","max_tokens":400,"messages":[{"role":"user","content":"hi"}]}`
	cappedS = `{"model":"chat","stream":true,"max_tokens":400,"messages":[{"role":"user","content":"hi"}]}`
)

// E1: what streams use counts against the account's tokens, as it does for whole answers: by each API,
// passed on or held, told or estimated, to their end or not.
func TestTokensOfStreamsReachTheAccountsLimit(t *testing.T) {
	tenTimes := func(rule string, w way, set func(*staging), body string, how play) {
		onStage(t, func(g *staging) { metered(20_000)(g); speaking(w.dialect, w.api)(g); set(g) }, func(s *stage) {
			s.at("a", how)
			for range 10 {
				resp, err := s.ask(s.t.Context(), w.path, body)
				if err != nil {
					s.t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			// A burst is 1,000 tokens, and no time passes.
			if u := s.last().Outcome.Usage; len(s.got["a"]) != 2 || u.Output != 400 {
				s.t.Errorf("%s, %s: %d asked, %+v", w.api, rule, len(s.got["a"]), u)
			}
		})
	}
	once := func(g *staging) { g.catalog.Workloads[0].Attempts.Max = 1 }
	held := func(g *staging) { once(g); whole(g) }
	for _, w := range streaming() {
		tenTimes("a whole answer", w, once, w.body(false), w.good(false))
		begun := parts(w.opens, times(400, w.says))
		for rule, events := range map[string][]any{"told": w.events(1), "cut": parts(begun, errReset), "failed": parts(begun, w.fails)} {
			tenTimes(rule, w, once, w.body(true), streams(events...))
			tenTimes(rule+", held", w, held, w.body(true), streams(events...))
		}
	}
	untold := streams(parts(times(400, oneEvent), stopEvent, doneEvent)...)
	tenTimes("untold", ways[0], once, ways[0].body(true), untold)
	tenTimes("untold, held", ways[0], held, ways[0].body(true), untold)
}

// E16, E17: what was reserved for an answer and not used is given back, however it ended: by each
// API, passed on or held.
func TestWhatWasReservedAndNotUsedIsGivenBack(t *testing.T) {
	for _, w := range streaming() {
		ten := parts(w.opens, times(10, w.says))
		for _, c := range []struct {
			rule   string
			stream bool
			how    play
			output int64 // -1: nothing is used
			reads  bool  // to the end
		}{
			{"a whole answer", false, w.good(false), 400, true},
			{"a whole answer that is an error", false, says(500, w.fault), -1, true},
			{"a whole answer that does not come", false, lost, -1, true},
			{"a stream to its end", true, w.good(true), 400, true},
			{"a stream that is refused", true, says(429, `{}`), -1, true},
			{"a stream that is cut before content", true, streams(parts(roleEvent, errReset)...), -1, true},
			{"a stream that is cut after 10", true, streams(parts(ten, errReset)...), 10, true},
			{"a stream that fails after 10", true, streams(parts(ten, w.fails)...), 10, true},
			{"a stream that loses its end after 10", true, streams(ten...), 10, true},
			{"a stream that the caller leaves after 10", true, streams(parts(ten, forever)...), 10, false},
		} {
			for _, held := range []bool{false, c.reads} {
				onStage(t, func(g *staging) {
					metered(100_000)(g)
					speaking(w.dialect, w.api)(g)
					g.catalog.Workloads[0].Attempts.Max, g.catalog.Workloads[0].Whole = 1, held
				}, func(s *stage) {
					s.at("a", func(s *stage, r *http.Request) (*http.Response, error) {
						if during := s.left(); during > 4600 {
							s.t.Errorf("%s, %s: %d left while it lasts", w.api, c.rule, during)
						}
						return c.how(s, r)
					})
					resp, err := s.ask(s.t.Context(), w.path, w.body(c.stream))
					if err != nil {
						s.t.Fatal(err)
					}
					if c.reads {
						_, _ = io.Copy(io.Discard, resp.Body)
					} else if _, err = io.ReadFull(resp.Body, make([]byte, len(joined(ten)))); err != nil {
						s.t.Error(err)
					} else if during := s.left(); during > 4600 {
						s.t.Errorf("%s, %s: %d left in its middle", w.api, c.rule, during)
					}
					resp.Body.Close()
					u, want := s.last().Outcome.Usage, int64(5000) // the burst: no time has passed
					if c.output >= 0 {
						want -= u.Input + c.output
					}
					if got := s.left(); got != want || c.output >= 0 && u.Output != c.output || u.Input > 100 {
						s.t.Errorf("%s, %s: %d left, want %d: %+v", w.api, c.rule, got, want, s.last().Outcome)
					}
				})
			}
		}
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

// E2: a stream that its caller leaves frees its place at once, the tenant's and the
// endpoint's, whichever way it is left.
func TestAStreamThatIsLeftFreesItsPlace(t *testing.T) {
	places := map[string]func(*staging){
		"the tenant's": func(g *staging) {
			tenant := clienttest.Tenant("default")
			tenant.Caps.Concurrency = 1
			g.catalog.Tenants = []route.Tenant{tenant}
		},
		"the endpoint's": func(g *staging) { g.catalog.Endpoints[0].Concurrency = 1 },
	}
	for _, w := range streaming() {
		for place, set := range places {
			for rule, leave := range map[string]func(*http.Response, context.CancelFunc){
				"closed":           func(r *http.Response, _ context.CancelFunc) { r.Body.Close() },
				"cancelled":        func(_ *http.Response, cancel context.CancelFunc) { cancel() },
				"read, and closed": func(r *http.Response, _ context.CancelFunc) { _, _ = r.Body.Read(make([]byte, 9)); r.Body.Close() },
			} {
				onStage(t, func(g *staging) { metered(1 << 40)(g); speaking(w.dialect, w.api)(g); set(g) }, func(s *stage) {
					s.at("a", streams(parts(w.opens, w.says, forever)...), w.good(false))
					ctx, cancel := context.WithCancel(s.t.Context())
					defer cancel()
					resp, err := s.ask(ctx, w.path, w.body(true))
					if err != nil {
						s.t.Fatal(err)
					}
					for _, want := range []int{429, 200} {
						if other, _, err := s.read(s.ask(s.t.Context(), w.path, w.body(false))); err != nil || other.StatusCode != want {
							s.t.Errorf("%s, %s, %s: %d %v, want %d", w.api, place, rule, other.StatusCode, err, want)
						}
						leave(resp, cancel)
						synctest.Wait()
					}
					var shed *clientlib.ShedError
					if len(s.calls()) != 3 || !errors.As(s.calls()[0].Err, &shed) {
						s.t.Errorf("%+v", s.calls())
					}
					s.decided("a cancelled", "a served")
				})
			}
		}
	}
}
