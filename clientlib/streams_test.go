package clientlib_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
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
	forty := times(40, oneEvent)
	for _, c := range []struct {
		rule      string
		events    []any
		kind      clientlib.OutcomeKind
		why       error
		estimated int64 // output
	}{
		{"cut after 40 of 60", parts(roleEvent, forty, errReset), clientlib.Faulted, errReset, 40},
		{"ended without its mark", parts(roleEvent, forty), clientlib.Faulted, nil, 40},
		{"ended inside an event", parts(roleEvent, forty, oneEvent[:20]), clientlib.Faulted, io.ErrUnexpectedEOF, 40},
		{"stalled for 30 s", parts(roleEvent, forty, 30*time.Second, oneEvent, doneEvent), clientlib.TimedOut, nil, 40},
		{"a comment is no progress", parts(roleEvent, forty, 15*time.Second, ": alive\n\n", 15*time.Second, ": alive\n\n"), clientlib.TimedOut, nil, 40},
		{"an error", parts(roleEvent, forty, `data: {"error":{"message":"x","code":"server_error"}}`+"\n\n"), clientlib.Faulted, nil, 40},
		{"seventeen events that are none", parts(roleEvent, forty, times(17, badEvent), doneEvent), clientlib.Faulted, nil, 40},
	} {
		onStage(t, nil, func(s *stage) {
			s.at("a", streams(c.events...))
			resp, body, err := s.chat(streamed)
			var broke *clientlib.StreamError
			if !errors.As(err, &broke) || c.why != nil && !errors.Is(err, c.why) {
				s.t.Fatalf("%s: %v after %d bytes", c.rule, err, len(body))
			}
			want := &clientlib.StreamError{
				Endpoint: "a", Events: 40, Bytes: int64(len(body)), Restartable: true, Estimated: true,
				Usage: clientlib.Usage{Input: s.last().Outcome.Usage.Input, Output: c.estimated}, Outcome: s.last().Outcome,
			}
			if diff := cmp.Diff(want, broke, cmpopts.IgnoreFields(clientlib.StreamError{}, "Err")); diff != "" || broke.Outcome.Kind != c.kind || resp.StatusCode != 200 {
				s.t.Errorf("%s: %s", c.rule, diff)
			}
			s.decided("a " + c.kind.String())
			if len(s.got["b"]) != 0 || len(s.calls()) != 1 || !errors.As(s.calls()[0].Err, &broke) {
				s.t.Errorf("%s: b was asked %d times, calls %+v", c.rule, len(s.got["b"]), s.calls())
			}
		})
	}
}

// D1, C3: what is held to its end is answered elsewhere, and then is one answer, not parts of two.
func TestAHeldStreamThatBreaksIsOneAnswerFromElsewhere(t *testing.T) {
	piece := func(text string) string {
		b, _ := json.Marshal(text)
		return `data: {"choices":[{"index":0,"delta":{"content":` + string(b) + `}}]}` + "\n\n"
	}
	for rule, events := range map[string][]any{
		"cut":                  {roleEvent, piece(`{"name":"x","list":[`), errReset},
		"without its mark":     {roleEvent, piece(`{"name":"x","list":[`)},
		"stalled":              {roleEvent, piece(`{"name":"x","list":[`), 30 * time.Second, doneEvent},
		"failed":               {roleEvent, piece(`{"name":"x","list":[`), `data: {"error":{"message":"x"}}` + "\n\n"},
		"too much of bad data": parts(roleEvent, piece(`{"name":"x","list":[`), times(17, badEvent), doneEvent),
	} {
		onStage(t, whole, func(s *stage) {
			s.at("a", streams(events...))
			s.at("b", streams(roleEvent, piece(`{"name":`), piece(`"y"}`), stopEvent, doneEvent))
			_, body, err := s.chat(streamed)
			if err != nil || text(body) != `{"name":"y"}` {
				s.t.Errorf("%s: %q %v", rule, text(body), err)
			}
			if got := s.Decisions(); len(got) != 2 || got[1] != "b served" {
				s.t.Errorf("%s: %v", rule, got)
			}
		})
	}
}

// D1: an event that cannot be read does not take a good stream with it.
func TestAMalformedEventIsLeftOutAndCounted(t *testing.T) {
	for _, set := range []func(*staging){nil, whole} {
		for n, detail := range map[int]string{1: "1 malformed event", 16: "16 malformed events"} {
			onStage(t, set, func(s *stage) {
				s.at("a", streams(parts(roleEvent, oneEvent, times(n, badEvent), twoEvent, stopEvent, doneEvent)...))
				if _, body, err := s.chat(streamed); err != nil || body != roleEvent+oneEvent+twoEvent+stopEvent+doneEvent {
					s.t.Errorf("%d: %q %v", n, body, err)
				}
				s.decided("a served")
				if got := s.last().Outcome.Detail; got != detail {
					s.t.Errorf("%d: %q", n, got)
				}
			})
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
	onStage(t, func(g *staging) { g.catalog.Workloads[0].Attempts.Total = 30_000_000 }, func(s *stage) {
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
// found out.
func TestStreamsThatAlwaysDieOpenTheBreaker(t *testing.T) {
	onStage(t, nil, func(s *stage) {
		s.at("a", streams(roleEvent, oneEvent, errReset))
		for i := range 50 {
			_, _, err := s.chat(streamed)
			if died := err != nil; died != (i < 5) {
				s.t.Errorf("stream %d: %v from %s", i, err, s.last().Endpoint)
			}
		}
		if got := s.Endpoints()[0]; got.Local != "open" || len(s.got["a"]) != 5 || slices.Contains(s.Decisions(), "a served") {
			s.t.Errorf("%d streams, breaker %s: %v", len(s.got["a"]), got.Local, s.Decisions()[:6])
		}
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
