package clientlib_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib"
)

// noTwo refuses answers that say "two", and keeps what it was asked.
func noTwo(asked *[]clientlib.Answer) func(context.Context, clientlib.Answer) error {
	return func(_ context.Context, a clientlib.Answer) error {
		body := strings.Clone(string(a.Body))
		*asked = append(*asked, clientlib.Answer{Workload: a.Workload, Endpoint: a.Endpoint, API: a.API, Stream: a.Stream, Status: a.Status, Body: []byte(body)})
		if strings.Contains(body, "two") {
			return errors.New("it says two")
		}
		return nil
	}
}

// G5: a whole answer that Validate refuses is asked for one tier further, if the workload
// escalates on quality; else the caller is told, and does not get it.
func TestAWholeAnswerThatIsRefusedGoesOneTierFurther(t *testing.T) {
	good := strings.ReplaceAll(goodBody, "two", "three")
	for _, c := range []struct {
		rule, body string
		held       bool
		escalates  bool
		how, then  play
		decisions  []string
		status     int
		shown      string
	}{
		{"whole", plain, false, true, says(200, goodBody), says(200, good), []string{"a invalid", "b served"}, 200, "three"},
		{"a stream that is held", streamed, true, true, streams(oneEvent, twoEvent, doneEvent), streams(oneEvent, doneEvent), []string{"a invalid", "b served"}, 200, "one"},
		{"both", plain, false, true, says(200, goodBody), says(200, goodBody), []string{"a invalid", "b invalid"}, 502, "invalid_answer"},
		{"no escalation", plain, false, false, says(200, goodBody), says(200, good), []string{"a invalid"}, 502, "invalid_answer"},
		{"a failure is not judged", plain, false, true, failing(500, "two"), says(200, good), []string{"a faulted", "b served"}, 200, "three"},
	} {
		var asked []clientlib.Answer
		onStage(t, func(g *staging) {
			g.catalog.Workloads[0].Whole, g.catalog.Workloads[0].EscalateQuality = c.held, c.escalates
			g.transport.Validate = noTwo(&asked)
		}, func(s *stage) {
			s.at("a", c.how)
			s.at("b", c.then)
			resp, body, err := s.chat(c.body)
			if err != nil || resp.StatusCode != c.status || !strings.Contains(body, c.shown) || c.status == 502 && strings.Contains(body, "one") {
				s.t.Errorf("%s: %d %s %v", c.rule, resp.StatusCode, body, err)
			}
			s.decided(c.decisions...)
			for _, a := range s.Attempts() {
				if a.Outcome.Kind == clientlib.Invalid && (a.Outcome.Detail != "refused by Validate" || !a.Outcome.HasUsage) {
					s.t.Errorf("%s: %+v", c.rule, a.Outcome)
				}
			}
			want := clientlib.Answer{Workload: "chat", Endpoint: s.last().Endpoint, API: "openai.chat", Stream: c.held, Status: 200, Body: []byte(body)}
			if diff := cmp.Diff(want, asked[len(asked)-1]); diff != "" && c.status == 200 {
				s.t.Errorf("%s: %s", c.rule, diff)
			}
		})
	}
}

// Of a live stream the caller has had it all: it only counts, as the endpoint's quality.
func TestALiveStreamThatIsRefusedOnlyCounts(t *testing.T) {
	var asked []clientlib.Answer
	onStage(t, func(g *staging) {
		g.catalog.Workloads[0].EscalateQuality = true
		g.catalog.Endpoints[0].Breaker.MinSamples, g.catalog.Endpoints[0].Breaker.Consecutive = 4, 0
		g.transport.Validate = noTwo(&asked)
	}, func(s *stage) {
		const all = roleEvent + oneEvent + twoEvent + stopEvent + doneEvent
		s.at("a", streams(roleEvent, oneEvent, twoEvent, stopEvent, usageEvent, doneEvent))
		for range 4 {
			if _, body, err := s.chat(streamed); err != nil || body != all {
				s.t.Errorf("%q %v", body, err)
			}
		}
		s.decided("a invalid", "a invalid", "a invalid", "a invalid")
		if got := asked[0]; !got.Stream || string(got.Body) != all {
			s.t.Errorf("judged %+v", got)
		}
		if len(s.calls()) != 4 || s.calls()[0].Err != nil || s.calls()[0].Outcome.Kind != clientlib.Invalid {
			s.t.Errorf("%+v", s.calls())
		}
		if got := s.Endpoints()[0].Local; got != "open" {
			s.t.Errorf("breaker %s", got)
		}
	})
}

func TestWhatIsTooMuchToKeepIsNotJudged(t *testing.T) {
	var asked []clientlib.Answer
	onStage(t, func(g *staging) {
		g.transport.MaxAnswer, g.transport.Validate = int64(len(roleEvent+oneEvent)), noTwo(&asked)
	}, func(s *stage) {
		if _, body, err := s.chat(streamed); err != nil || text(body) != "one two" {
			s.t.Errorf("%q %v", body, err)
		}
		s.decided("a served")
		if len(asked) != 0 {
			s.t.Errorf("%+v", asked)
		}
	})
}
