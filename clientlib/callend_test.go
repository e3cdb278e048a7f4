package clientlib_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
)

// Every call ends once, after its last attempt has, and says of what.
func TestACallEndsOnce(t *testing.T) {
	type ending struct {
		attempts int
		kind     clientlib.OutcomeKind
		failed   bool
	}
	try := func(kind error) func(*stage) {
		return func(s *stage) {
			_, _ = clientlib.Do(s.t.Context(), s.Workload("chat"), clientlib.Request{}, where(map[string]error{"a": kind, "b": kind}))
		}
	}
	ask := func(body string, plays ...play) func(*stage) {
		return func(s *stage) {
			s.at("a", plays...)
			_, _, _ = s.chat(body)
		}
	}
	pick := func(end func(clientlib.Attempt)) func(*stage) {
		return func(s *stage) {
			a, err := s.Workload("chat").Pick(clientlib.Request{})
			if err != nil {
				s.t.Fatal(err)
			}
			if len(s.calls()) != 0 {
				s.t.Error("ended before its attempt")
			}
			end(a)
			end(a)
		}
	}
	for _, c := range []struct {
		rule string
		run  func(*stage)
		want ending
	}{
		{"Do: served", try(nil), ending{1, clientlib.Served, false}},
		{"Do: failed", try(errBroken), ending{2, clientlib.Faulted, true}},
		{"Do: shed", func(s *stage) {
			_, _ = clientlib.Do(s.t.Context(), s.Workload("chat"), clientlib.Request{Needs: []string{"telepathy"}}, where(nil))
		}, ending{0, 0, true}},
		{"Do: a panic", func(s *stage) {
			defer func() { _ = recover() }()
			_, _ = clientlib.Do(s.t.Context(), s.Workload("chat"), clientlib.Request{}, func(context.Context, clientlib.Attempt) (int, error) { panic("x") })
		}, ending{1, clientlib.Abandoned, true}},
		{"Do: settled by hand", func(s *stage) {
			_, _ = clientlib.Do(s.t.Context(), s.Workload("chat"), clientlib.Request{}, func(_ context.Context, a clientlib.Attempt) (int, error) {
				a.Settle(clientlib.Outcome{Kind: clientlib.Served})
				return 0, nil
			})
		}, ending{1, clientlib.Served, false}},
		{"Transport: served", ask(plain, hello), ending{1, clientlib.Served, false}},
		{"Transport: served elsewhere", ask(plain, lost), ending{2, clientlib.Served, false}},
		{"Transport: refused", ask(plain, failing(400, "bad")), ending{1, clientlib.Refused, true}},
		{"Transport: an unknown workload", func(s *stage) { _, _, _ = s.chat(`{"model":"x"}`) }, ending{0, 0, true}},
		{"a stream to its end", ask(streamed, hello), ending{1, clientlib.Served, false}},
		{"a stream that breaks", ask(streamed, streams(oneEvent, errReset)), ending{1, clientlib.Faulted, true}},
		{"a stream that breaks before content", ask(streamed, streams(errReset)), ending{2, clientlib.Served, false}},
		{"a stream that is closed", func(s *stage) {
			s.at("a", streams(oneEvent, forever))
			resp, err := s.ask(s.t.Context(), "/chat/completions", streamed)
			if err != nil {
				s.t.Fatal(err)
			}
			if len(s.calls()) != 0 {
				s.t.Error("ended before its stream")
			}
			resp.Body.Close()
			resp.Body.Close()
			_, _ = io.ReadAll(resp.Body)
		}, ending{1, clientlib.Cancelled, true}},
		{"a stream that is closed after its end mark", func(s *stage) {
			resp, err := s.ask(s.t.Context(), "/chat/completions", streamed)
			if err != nil {
				s.t.Fatal(err)
			}
			_, err = io.ReadFull(resp.Body, make([]byte, len(roleEvent+oneEvent+twoEvent+stopEvent+doneEvent)))
			if err != nil {
				s.t.Error(err)
			}
			resp.Body.Close()
		}, ending{1, clientlib.Served, false}},
		{"Pick: settled", pick(func(a clientlib.Attempt) { a.Settle(clientlib.Outcome{Kind: clientlib.Served}) }), ending{1, clientlib.Served, false}},
		{"Pick: failed", pick(func(a clientlib.Attempt) { a.Settle(clientlib.Outcome{Kind: clientlib.Faulted}) }), ending{1, clientlib.Faulted, true}},
		{"Pick: abandoned", pick(clientlib.Attempt.Abandon), ending{1, clientlib.Abandoned, true}},
		{"Pick: shed", func(s *stage) { _, _ = s.Workload("chat").Pick(clientlib.Request{Needs: []string{"telepathy"}}) }, ending{0, 0, true}},
	} {
		onStage(t, nil, func(s *stage) {
			c.run(s)
			synctest.Wait()
			if len(s.calls()) != 1 {
				s.t.Fatalf("%s: %d ends", c.rule, len(s.calls()))
			}
			e := s.calls()[0]
			if got := (ending{e.Attempts, e.Outcome.Kind, e.Err != nil}); got != c.want {
				s.t.Errorf("%s: %+v, want %+v: %v", c.rule, got, c.want, e.Err)
			}
		})
	}
}

// What Validate panics with is the caller's; the attempt and the call end all the same.
func TestAPanicOfValidateLeavesNothingBehind(t *testing.T) {
	for _, body := range []string{plain, streamed} {
		onStage(t, func(g *staging) {
			g.transport.Validate = func(context.Context, clientlib.Answer) error { panic(errBroken) }
		}, func(s *stage) {
			func() {
				defer func() {
					if p := recover(); p != errBroken { //nolint:errorlint // it is the value itself
						s.t.Errorf("recovered %v", p)
					}
				}()
				resp, err := s.ask(s.t.Context(), "/chat/completions", body)
				if err == nil {
					defer resp.Body.Close()
					_, _ = io.ReadAll(resp.Body)
				}
			}()
			if got := s.last().Outcome.Kind; got != clientlib.Abandoned && got != clientlib.Cancelled || len(s.calls()) != 1 || s.calls()[0].Err == nil {
				s.t.Errorf("%v, %+v", got, s.calls())
			}
		})
	}
}

// The time that a call waited in the queue is told with its attempts.
func TestACallTellsHowLongItWaited(t *testing.T) {
	onStage(t, func(g *staging) {
		g.catalog.Endpoints, g.catalog.Workloads[0].Tiers = g.catalog.Endpoints[:1], []route.Tier{{Name: "first", Endpoints: []string{"a"}}}
		g.catalog.Endpoints[0].Concurrency = 1
	}, func(s *stage) {
		s.at("a", streams(oneEvent, 3*time.Second, doneEvent), hello)
		first, err := s.ask(s.t.Context(), "/chat/completions", streamed)
		if err != nil {
			s.t.Fatal(err)
		}
		go func() { _, _, _ = s.read(first, nil) }()
		if _, _, err := s.chat(plain); err != nil {
			s.t.Error(err)
		}
		if a := s.last(); a.QueueTime != 3*time.Second || len(s.calls()) != 2 || s.calls()[1].Waited != 3*time.Second || errors.Is(s.calls()[1].Err, clientlib.ErrShed) {
			s.t.Errorf("%v, %+v", a.QueueTime, s.calls())
		}
	})
}
