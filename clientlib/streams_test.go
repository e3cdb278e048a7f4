package clientlib_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pointsman/pointsman/clientlib"
)

const badEvent = "data: {oops\n\n"

// times is a part so many times.
func times(n int, part any) []any { return slices.Repeat([]any{part}, n) }

// parts are all of them in one.
func parts(some ...any) []any {
	var all []any
	for _, s := range some {
		if list, ok := s.([]any); ok {
			all = append(all, list...)
		} else {
			all = append(all, s)
		}
	}
	return all
}

func whole(g *staging) { g.catalog.Workloads[0].Whole = true }

// D1, D11: a stream that is cut, stalls or ends without its mark, in the middle, is a typed
// error for who has had some of it. It never ends clean, and nobody else goes on with it.
func TestALiveStreamThatBreaksSaysWhatCameOfIt(t *testing.T) {
	for _, w := range streaming() {
		forty := times(40, w.says)
		for _, c := range []struct {
			rule string
			ends []any
			kind clientlib.OutcomeKind
			why  error
		}{
			{"cut after 40 of 60", []any{errReset}, clientlib.Faulted, errReset},
			{"ended without its mark", nil, clientlib.Faulted, nil},
			{"ended without its mark, though finished", w.ends[:len(w.ends)-1], clientlib.Faulted, nil},
			{"ended inside an event", []any{w.says[:20]}, clientlib.Faulted, io.ErrUnexpectedEOF},
			{"stalled for 30 s", parts(30*time.Second, w.says, w.ends), clientlib.TimedOut, nil},
			{"a comment is no progress", parts(15*time.Second, ": alive\n\n", 15*time.Second, ": alive\n\n"), clientlib.TimedOut, nil},
			{"an error", []any{w.fails}, clientlib.Faulted, nil},
			{"an error, and an end after that", parts(w.fails, w.ends), clientlib.Faulted, nil},
			{"seventeen events that are none", parts(times(17, badEvent), w.ends), clientlib.Faulted, nil},
		} {
			onStage(t, speaking(w.dialect, w.api), func(s *stage) {
				s.at("a", streams(parts(w.opens, forty, c.ends)...))
				resp, body, err := s.read(s.ask(s.t.Context(), w.path, w.body(true)))
				var broke *clientlib.StreamError
				if !errors.As(err, &broke) || c.why != nil && !errors.Is(err, c.why) {
					s.t.Fatalf("%s, %s: %v after %d bytes", w.api, c.rule, err, len(body))
				}
				o := s.last().Outcome
				want := &clientlib.StreamError{
					Endpoint: "a", Events: 40, Bytes: int64(len(body)), Restartable: true, Estimated: o.Estimated, Usage: o.Usage, Outcome: o,
				}
				if diff := cmp.Diff(want, broke, cmpopts.IgnoreFields(clientlib.StreamError{}, "Err")); diff != "" || o.Kind != c.kind || resp.StatusCode != 200 {
					s.t.Errorf("%s, %s: %v %s", w.api, c.rule, o, diff)
				}
				if told := o.Usage.Output == 400 && strings.HasSuffix(c.rule, "finished"); !o.HasUsage || o.Usage.Input == 0 || !told && (o.Usage.Output != 40 || !o.Estimated) {
					s.t.Errorf("%s, %s: %+v", w.api, c.rule, o)
				}
				s.decided("a " + c.kind.String())
				if len(s.got["b"]) != 0 || len(s.calls()) != 1 || !errors.As(s.calls()[0].Err, &broke) {
					s.t.Errorf("%s, %s: b was asked %d times, calls %+v", w.api, c.rule, len(s.got["b"]), s.calls())
				}
			})
		}
	}
}

func TestAStreamErrorSaysNoMoreThanItKnows(t *testing.T) {
	for detail, want := range map[string]string{
		"":      `endpoint "a": stream broke after 2 events: cancelled`,
		"total": `endpoint "a": stream broke after 2 events: cancelled: total`,
	} {
		err := &clientlib.StreamError{Endpoint: "a", Events: 2, Outcome: clientlib.Outcome{Kind: clientlib.Cancelled, Detail: detail}}
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// D1, C3: what is held to its end is answered elsewhere, and then is one answer, not parts of two.
func TestAHeldStreamThatBreaksIsOneAnswerFromElsewhere(t *testing.T) {
	for _, w := range streaming() {
		begun := parts(w.opens, times(40, w.says))
		for rule, events := range map[string][]any{
			"faulted, cut":                  parts(begun, errReset),
			"faulted, without its mark":     begun,
			"faulted, inside an event":      parts(begun, w.says[:len(w.says)/2]),
			"faulted, failed":               parts(begun, w.fails),
			"faulted, too much of bad data": parts(begun, times(17, badEvent), w.ends),
			"timed_out, stalled":            parts(begun, 30*time.Second, w.ends),
		} {
			onStage(t, func(g *staging) { speaking(w.dialect, w.api)(g); whole(g) }, func(s *stage) {
				s.at("a", streams(events...))
				s.at("b", w.good(true), streams(events...))
				ask := func() (*http.Response, string, error) {
					return s.read(s.ask(s.t.Context(), w.path, w.body(true)))
				}
				if _, body, err := ask(); err != nil || body != w.told(true) {
					s.t.Fatalf("%s, %s: %q %v", w.api, rule, body, err)
				}
				kind, _, _ := strings.Cut(rule, ",")
				s.decided("a "+kind, "b served")
				if a, b := s.got["a"][0].body, s.got["b"][0].body; b != strings.Replace(a, "model-at-a", "model-at-b", 1) {
					s.t.Errorf("%s, %s: asked %s, then %s", w.api, rule, a, b)
				}
				if resp, body, err := ask(); err != nil || resp.StatusCode < 500 || strings.Contains(body, "one") {
					s.t.Errorf("%s, %s everywhere: %d %q %v", w.api, rule, resp.StatusCode, body, err)
				}
			})
		}
	}
}

// D1: an event that cannot be read does not take a good stream with it, before its content or after.
func TestAMalformedEventIsLeftOutAndCounted(t *testing.T) {
	for _, w := range streaming() {
		for n, detail := range map[int]string{1: "1 malformed event", 16: "16 malformed events"} {
			for rule, events := range map[string][]any{
				"first": parts(times(n, badEvent), w.events(1)), "before content": parts(w.opens, times(n, badEvent), w.says, w.ends),
				"after it": parts(w.opens, w.says, times(n, badEvent), w.ends),
			} {
				for _, held := range []bool{false, true} {
					onStage(t, func(g *staging) { speaking(w.dialect, w.api)(g); g.catalog.Workloads[0].Whole = held }, func(s *stage) {
						s.at("a", streams(events...))
						if _, body, err := s.read(s.ask(s.t.Context(), w.path, w.body(true))); err != nil || body != w.told(true) {
							s.t.Errorf("%s, %d %s: %q %v", w.api, n, rule, body, err)
						}
						s.decided("a served")
						if got := s.last().Outcome.Detail; got != detail {
							s.t.Errorf("%s, %d %s: %q", w.api, n, rule, got)
						}
					})
				}
			}
		}
	}
}

// Asking anew repeats no action, as long as no part of a tool's call was passed on.
func TestAStreamThatBreaksSaysWhetherARestartIsSafe(t *testing.T) {
	const tool = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}}]}` + "\n\n"
	for _, c := range []struct {
		dialect, api, path, body string
		events                   []any
		safe                     bool
	}{
		{"openai", "openai.chat", "/chat/completions", streamed, []any{roleEvent, oneEvent, errReset}, true},
		{"openai", "openai.chat", "/chat/completions", streamed, []any{roleEvent, oneEvent, tool, errReset}, false},
		{"anthropic", "anthropic.messages", "/messages", streamed, []any{messageStart, messageBlock, messageText, messageError}, true},
		{"anthropic", "anthropic.messages", "/messages", streamed, []any{messageStart, messageBlock, messageText, messageTool, messageInput, errReset}, false},
		{"openai", "openai.responses", "/responses", streamed, []any{responseStart, responseText, responseFails}, true},
	} {
		onStage(t, speaking(c.dialect, c.api), func(s *stage) {
			s.at("a", streams(c.events...))
			_, _, err := s.read(s.ask(s.t.Context(), c.path, c.body))
			var broke *clientlib.StreamError
			if !errors.As(err, &broke) || broke.Restartable != c.safe {
				s.t.Errorf("%s, safe %v: %v %+v", c.api, c.safe, err, broke)
			}
			s.decided("a faulted")
		})
	}
}

// Usage comes in parts and at the end, or not at all. What is not told is estimated, and said so.
func TestUsageOfStreamsIsMergedOrEstimated(t *testing.T) {
	for _, c := range []struct {
		rule              string
		dialect, api      string
		path              string
		events            []any
		input, output     int64
		cached            int64
		estimated, broken bool
	}{
		{"told at the end", "openai", "openai.chat", "/chat/completions", []any{oneEvent, stopEvent, usageEvent, doneEvent}, 4, 2, 0, false, false},
		{"never told", "openai", "openai.chat", "/chat/completions", []any{oneEvent, twoEvent, stopEvent, doneEvent}, 0, 2, 0, true, false},
		{"never told, and cut", "openai", "openai.chat", "/chat/completions", []any{oneEvent, twoEvent, errReset}, 0, 2, 0, true, true},
		{"in two parts", "anthropic", "anthropic.messages", "/messages", []any{messageStart, messageText, messageDelta, messageStop}, 25, 15, 0, false, false},
		{"of two parts the first", "anthropic", "anthropic.messages", "/messages", parts(messageStart, times(7, messageText), errReset), 25, 7, 0, true, true},
		{"of two parts the first, which is enough", "anthropic", "anthropic.messages", "/messages", []any{messageStart, messageText, errReset}, 25, 1, 0, false, true},
		{"told with the end", "openai", "openai.responses", "/responses", []any{responseStart, responseText, responseEnd}, 30, 7, 10, false, false},
	} {
		onStage(t, func(g *staging) {
			speaking(c.dialect, c.api)(g)
			g.catalog.Endpoints[0].Price.Input, g.catalog.Endpoints[0].Price.Output = 1_000_000, 2_000_000
		}, func(s *stage) {
			s.at("a", streams(c.events...))
			if _, _, err := s.read(s.ask(s.t.Context(), c.path, streamed)); (err != nil) != c.broken {
				s.t.Errorf("%s: %v", c.rule, err)
			}
			a := s.last()
			want := clientlib.Usage{Input: c.input, Cached: c.cached, Output: c.output}
			if c.input == 0 {
				want.Input = a.Outcome.Usage.Input
			}
			if o := a.Outcome; o.Usage != want || !o.HasUsage || o.Estimated != c.estimated || o.Usage.Input == 0 {
				s.t.Errorf("%s: %+v", c.rule, o)
			}
			if a.Cost <= 0 {
				s.t.Errorf("%s: costs %v", c.rule, a.Cost)
			}
		})
	}
}

// What a whole answer does not tell is estimated by its size; vectors are no output.
func TestUsageOfAnswersThatDoNotTellIsEstimated(t *testing.T) {
	quiet := `{"choices":[{"index":0,"message":{"content":"one two"},"finish_reason":"stop"}]}`
	vectors := `{"object":"list","data":[{"embedding":[0.1,0.2]}]}`
	for _, c := range []struct {
		api, path, answer string
		output            int64
	}{{"openai.chat", "/chat/completions", quiet, int64(len(quiet) / 4)}, {"openai.embeddings", "/embeddings", vectors, 0}} {
		onStage(t, speaking("openai", c.api), func(s *stage) {
			s.at("a", says(200, c.answer))
			if _, body, err := s.read(s.ask(s.t.Context(), c.path, `{"model":"chat","input":"hi there, how are you","messages":[{"role":"user","content":"hi there, how are you"}]}`)); err != nil || body != c.answer {
				s.t.Errorf("%s: %s %v", c.api, body, err)
			}
			if o := s.last().Outcome; !o.Estimated || o.Usage.Output != c.output || o.Usage.Input <= 0 {
				s.t.Errorf("%s: %+v", c.api, o)
			}
		})
	}
}

// D22: a stream that goes on, a token a second, ends by its workload's total limit, and that is
// its endpoint's failure: it opens the breaker.
func TestAStreamThatCrawlsIsAFailureOfItsEndpoint(t *testing.T) {
	bounded := func(g *staging) { g.catalog.Workloads[0].Attempts.Total = 30_000_000 }
	onStage(t, func(g *staging) { bounded(g); whole(g) }, func(s *stage) {
		s.at("a", streams(slices.Repeat([]any{oneEvent, time.Second}, 1000)...))
		for i := range 6 {
			if resp, body, err := s.chat(streamed); err != nil || (resp.StatusCode == 504) != (i < 5) || s.last().Outcome.Kind == clientlib.TimedOut != (i < 5) {
				s.t.Errorf("held, %d: %d %q %v", i, resp.StatusCode, body, err)
			}
		}
	})
	onStage(t, bounded, func(s *stage) {
		s.at("a", streams(slices.Repeat([]any{oneEvent, time.Second}, 1000)...))
		for range 5 {
			began := time.Now()
			_, body, err := s.chat(streamed)
			var broke *clientlib.StreamError
			var limit *clientlib.LimitError
			if !errors.As(err, &broke) || !errors.As(err, &limit) || limit.Limit != "total" || broke.Events < 29 || broke.Events != strings.Count(body, "one") || time.Since(began) != 30*time.Second {
				s.t.Fatalf("%v after %v and %q", err, time.Since(began), body)
			}
			if s.last().Outcome.Kind != clientlib.TimedOut {
				s.t.Errorf("%+v", s.last())
			}
		}
		if _, _, err := s.chat(streamed); err != nil || s.last().Endpoint != "b" {
			s.t.Errorf("%v from %s", err, s.last().Endpoint)
		}
	})
}

// A27: a stream that was opened has not been served yet. One endpoint whose streams all die is
// found out, however they die, passed on or held; by Do, too.
func TestStreamsThatAlwaysDieOpenTheBreaker(t *testing.T) {
	found := func(s *stage, rule string) {
		if got := s.Endpoints()[0]; got.Local != "open" || len(s.Decisions()) < 50 || slices.Contains(s.Decisions(), "a served") || strings.Count(strings.Join(s.Decisions(), " "), "a ") != 5 {
			s.t.Errorf("%s: breaker %s: %v", rule, got.Local, s.Decisions())
		}
	}
	for _, w := range streaming() {
		for rule, end := range map[string][]any{"cut": {errReset}, "without its mark": nil, "failed": {w.fails}, "of bad data": times(17, badEvent), "stalled": {forever}} {
			for _, held := range []bool{false, true} {
				onStage(t, func(g *staging) {
					speaking(w.dialect, w.api)(g)
					g.catalog.Workloads[0].Whole = held
					g.catalog.Endpoints[0].Breaker.Cooldown = 3600_000_000
				}, func(s *stage) {
					s.at("a", streams(parts(w.opens, w.says, end)...))
					s.at("b", w.good(true))
					for i := range 50 {
						_, _, err := s.read(s.ask(s.t.Context(), w.path, w.body(true)))
						if died := err != nil; died != (i < 5 && !held) {
							s.t.Errorf("%s %s, stream %d: %v from %s", w.api, rule, i, err, s.last().Endpoint)
						}
					}
					found(s, w.api+" "+rule)
				})
			}
		}
	}
	onStage(t, nil, func(s *stage) {
		for range 50 {
			_, _ = clientlib.Do(s.t.Context(), s.Workload("chat"), clientlib.Request{Stream: true}, func(_ context.Context, a clientlib.Attempt) (int, error) {
				a.FirstToken()
				a.Content()
				if a.Endpoint().Name == "a" {
					return 0, errReset
				}
				return 0, nil
			})
		}
		found(s, "by Do")
	})
}

// A stream that nobody reads is not its endpoint's fault.
func TestAStreamThatIsNotReadInTimeBlamesNobody(t *testing.T) {
	onStage(t, func(g *staging) { g.catalog.Workloads[0].Attempts.Total = 30_000_000 }, func(s *stage) {
		s.at("a", streams(roleEvent, oneEvent, twoEvent, doneEvent))
		resp, err := s.ask(s.t.Context(), "/chat/completions", streamed)
		if err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		s.decided("a cancelled")
		if len(s.calls()) != 1 || s.calls()[0].Err == nil || s.last().Outcome.Detail != "not read in time" {
			s.t.Errorf("%+v", s.calls())
		}
		s.nothingIsLeft() // though it was neither read nor closed
		var broke *clientlib.StreamError
		if b, err := io.ReadAll(resp.Body); !errors.As(err, &broke) || text(string(b)) != "one" {
			s.t.Errorf("%q %v", b, err)
		}
		resp.Body.Close()
	})
}

// A limit that passes while the first content comes is a limit that has passed.
func TestAStreamThatTakesItsTimeToBeginIsTriedElsewhere(t *testing.T) {
	onStage(t, func(g *staging) { g.catalog.Workloads[0].Attempts.FirstToken = 2_000_000 }, func(s *stage) {
		s.at("a", streams(roleEvent, 20*time.Second, oneEvent, doneEvent))
		ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
		defer cancel()
		if _, body, err := s.read(s.ask(ctx, "/chat/completions", streamed)); err != nil || text(body) != "one two" {
			s.t.Errorf("%q %v", body, err)
		}
		s.decided("a timed_out", "b served")
	})
}
