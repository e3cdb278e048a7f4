package clientlib_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
)

var errBroken = errors.New("broken")

// where sends nothing and returns what it is told to at each endpoint.
func where(answers map[string]error) func(context.Context, clientlib.Attempt) (string, error) {
	return func(_ context.Context, a clientlib.Attempt) (string, error) {
		return "from " + a.Endpoint().Name, answers[a.Endpoint().Name]
	}
}

func TestDoGoesOnUntilOneIsServed(t *testing.T) {
	for _, c := range []struct {
		rule      string
		err       error
		want      string // the answer
		decisions []string
	}{
		{"nil is served", nil, "from a", []string{"a served"}},
		{"an error is a failure of the endpoint", errBroken, "from b", []string{"a faulted", "b served"}},
		{"a fault is as it says", &clientlib.Fault{Outcome: clientlib.Outcome{Kind: clientlib.Missing}}, "from b", []string{"a missing", "b served"}},
		{"also inside another error", fmt.Errorf("send: %w", &clientlib.Fault{Outcome: clientlib.Outcome{Kind: clientlib.Limited}}), "from b", []string{"a limited", "b served"}},
		{"what is refused is not tried again", &clientlib.Fault{Outcome: clientlib.Outcome{Kind: clientlib.Refused}, Err: errBroken}, "", []string{"a refused"}},
		{"a bound of the caller's own blames nobody", context.DeadlineExceeded, "", []string{"a cancelled"}},
	} {
		r := setUp(t)
		got, err := clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{}, where(map[string]error{"a": c.err}))
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.rule, got, err)
		}
		if c.want == "" && !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.rule, err)
		}
		r.decided(c.decisions...)
	}
}

func TestEveryAttemptIsToldWithADecisionThatReplays(t *testing.T) {
	k := &keeping{}
	r := setUp(t, func(_ *rig, _ *route.Catalog, config *clientlib.Config) { config.Observer = k })
	_, _ = clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{}, where(map[string]error{"a": errBroken}))
	if len(k.attempts) != 2 {
		t.Fatalf("%d attempts, want 2", len(k.attempts))
	}
	for i, a := range k.attempts {
		if again, err := route.Replay(&a.Decision); err != nil || again != a.Endpoint || int(a.Decision.Attempt) != i+1 {
			t.Errorf("attempt %d at %s: %q, %v: %+v", i+1, a.Endpoint, again, err, a.Decision)
		}
	}
}

func TestDoSaysWhyNoOtherAttemptFollowed(t *testing.T) {
	r := setUp(t)
	got, err := clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{}, where(map[string]error{"a": errors.New("first"), "b": errBroken}))
	var end *clientlib.EndError
	if got != "" || !errors.Is(err, errBroken) || !errors.As(err, &end) || end.Attempts != 2 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDoIsShedAtOnce(t *testing.T) {
	r := setUp(t)
	_, err := clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{Needs: []string{"telepathy"}}, where(nil))
	var shed *clientlib.ShedError
	if !errors.Is(err, clientlib.ErrShed) || !errors.As(err, &shed) || shed.Counts[route.ReasonCapability] != 2 {
		t.Errorf("%v", err)
	}
	if _, err = clientlib.Do(t.Context(), r.Workload("none"), clientlib.Request{}, where(nil)); !errors.Is(err, clientlib.ErrUnknownWorkload) {
		t.Errorf("%v", err)
	}
	r.decided()
}

func TestWhatSendSettlesStands(t *testing.T) {
	r := setUp(t)
	used := clientlib.Usage{Input: 7, Output: 3}
	_, err := clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{Tenant: "default"}, func(_ context.Context, a clientlib.Attempt) (int, error) {
		a.Settle(clientlib.Outcome{Kind: clientlib.Served, Usage: used, HasUsage: true})
		return 0, nil
	})
	if err != nil || r.Attempts()[0].Outcome.Usage != used {
		t.Errorf("%v %+v", err, r.Attempts())
	}
	r.decided("a served")
}

func TestNothingFollowsContent(t *testing.T) {
	r := setUp(t)
	_, err := clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{Stream: true}, func(_ context.Context, a clientlib.Attempt) (int, error) {
		a.FirstToken()
		a.Content()
		return 0, errBroken
	})
	if err != errBroken { //nolint:errorlint // it is the error itself
		t.Errorf("%v", err)
	}
	r.decided("a faulted")
	if first := r.Attempts()[0].FirstToken; first <= 0 {
		t.Errorf("first token after %v", first)
	}
}

func TestAPanicAbandonsAndGoesOn(t *testing.T) {
	r := setUp(t)
	defer func() {
		if p := recover(); p != errBroken { //nolint:errorlint // it is the value itself
			t.Errorf("recovered %v", p)
		}
		r.decided("a abandoned")
	}()
	_, _ = clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{}, func(context.Context, clientlib.Attempt) (int, error) { panic(errBroken) })
}

// until waits for its attempt's end and gives why.
func until(ctx context.Context, _ clientlib.Attempt) (int, error) {
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

func TestDoTellsTheCallersEndFromALimit(t *testing.T) {
	short := limits(func(a *route.Attempts) { a.Answer, a.Max = 30_000, 1 })
	r := setUp(t, short)
	_, err := clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{}, until)
	var limit *clientlib.LimitError
	if !errors.As(err, &limit) || limit.Limit != "answer" || !limit.Timeout() {
		t.Errorf("%v", err)
	}
	r.decided("a timed_out")

	r = setUp(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err = clientlib.Do(ctx, r.Workload("chat"), clientlib.Request{}, until); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	r.decided("a cancelled")
}

func TestAFirstTokenTradesItsLimitForTheStalls(t *testing.T) {
	r := setUp(t, limits(func(a *route.Attempts) { a.FirstToken, a.Stall, a.Max = 1_000_000, 30_000, 1 }))
	_, err := clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{Stream: true}, func(ctx context.Context, a clientlib.Attempt) (int, error) {
		a.FirstToken()
		return until(ctx, a)
	})
	var limit *clientlib.LimitError
	if !errors.As(err, &limit) || limit.Limit != "stall" {
		t.Errorf("%v", err)
	}
}

func TestAnAttemptIsGivenBackOnce(t *testing.T) {
	r := setUp(t)
	a, err := r.Workload("chat").Pick(clientlib.Request{Tenant: "default", Input: 10})
	if err != nil {
		t.Fatal(err)
	}
	if e := a.Endpoint(); e.Name != "a" || e.Model != "model-at-a" || !strings.HasPrefix(e.BaseURL, "http://127.0.0.1") {
		t.Errorf("%+v", e)
	}
	same := a
	same.Settle(clientlib.Outcome{Kind: clientlib.Served})
	a.Settle(clientlib.Outcome{Kind: clientlib.Faulted})
	a.Abandon()
	same.Abandon()
	r.decided("a served")
}

func TestTheZeroAttemptIsNone(t *testing.T) {
	var a clientlib.Attempt
	a.FirstToken()
	a.Content()
	a.Settle(clientlib.Outcome{})
	a.Abandon()
	if e := a.Endpoint(); e.Name != "" || a.API() != "" {
		t.Errorf("%+v", e)
	}
	if s, err := a.Secret(t.Context()); err == nil || !s.Empty() {
		t.Errorf("%v %v", s, err)
	}
}

func TestPickFailsAtOnceAndSaysWhen(t *testing.T) {
	r := setUp(t, func(_ *rig, c *route.Catalog, _ *clientlib.Config) {
		c.Endpoints = c.Endpoints[:1]
		c.Workloads[0].Tiers = c.Workloads[0].Tiers[:1]
	})
	a, err := r.Workload("chat").Pick(clientlib.Request{})
	if err != nil {
		t.Fatal(err)
	}
	a.Settle(clientlib.Outcome{Kind: clientlib.Limited, RetryAfter: 30_000_000})
	_, err = r.Workload("chat").Pick(clientlib.Request{})
	wait, known := r.RetryIn(err)
	if !errors.Is(err, clientlib.ErrShed) || !known || wait < 29*time.Second || wait > time.Minute {
		t.Errorf("%v in %v", err, wait)
	}
	if _, known := r.RetryIn(errBroken); known {
		t.Error("a wait for what is no shed")
	}
}

func TestWorkloadsAreInterned(t *testing.T) {
	r := setUp(t)
	first, second := r.Workload("x"), r.Workload("x")
	if first != second || first.Name() != "x" {
		t.Error("two workloads of one name")
	}
}
