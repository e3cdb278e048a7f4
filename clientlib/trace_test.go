package clientlib_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// register is an observer and a tracer that writes down all that it is told.
type register struct {
	mu    sync.Mutex
	calls []clientlib.CallInfo
	lines []string
}

func (g *register) note(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lines = append(g.lines, fmt.Sprintf(format, args...))
}

func (g *register) Event(clientlib.Event)           {}
func (g *register) Attempt(a clientlib.AttemptInfo) { g.note("attempt %d at %s", a.Number, a.Endpoint) }

func (g *register) Call(c clientlib.CallInfo) {
	g.note("call %s", c.End())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, c)
}

// following is a tracer's side of a register.
type following struct{ *register }

type spanKey struct{}

func (f following) Call(ctx context.Context, c clientlib.CallInfo) (context.Context, func(clientlib.CallInfo)) {
	f.note("begin %s of %s", c.Workload, c.Tenant)
	return context.WithValue(ctx, spanKey{}, "call"), func(c clientlib.CallInfo) { f.note("end %s after %d", c.End(), c.Attempts) }
}

func (f following) Attempt(ctx context.Context, a clientlib.AttemptInfo, h http.Header) (context.Context, func(clientlib.AttemptInfo)) {
	f.note("begin attempt %d in %v", a.Number, ctx.Value(spanKey{}))
	if h != nil {
		h.Set("Traceparent", fmt.Sprint("attempt-", a.Number))
	}
	return ctx, func(a clientlib.AttemptInfo) { f.note("end attempt %d %v", a.Number, a.Outcome.Kind) }
}

func observed(g *register) func(*rig, *route.Catalog, *clientlib.Config) {
	return func(_ *rig, _ *route.Catalog, c *clientlib.Config) { c.Observer = g }
}

func traced(g *register) func(*rig, *route.Catalog, *clientlib.Config) {
	return func(_ *rig, _ *route.Catalog, c *clientlib.Config) { c.Tracer = following{g} }
}

func TestACallAddsUpItsAttempts(t *testing.T) {
	var g register
	r := setUp(t, observed(&g))
	tries := 0
	_, err := clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{Tenant: "acme", Stream: true}, func(_ context.Context, a clientlib.Attempt) (int, error) {
		if tries++; tries == 1 {
			a.Settle(clientlib.Outcome{Kind: clientlib.Faulted, Status: 500, HasUsage: true, Usage: clientlib.Usage{Input: 10, Cached: 5}})
			return 0, errors.New("no")
		}
		a.FirstToken()
		a.Settle(clientlib.Outcome{Kind: clientlib.Served, HasUsage: true, Usage: clientlib.Usage{Input: 10, Output: 3}})
		return 1, nil
	})
	if err != nil || len(g.calls) != 1 {
		t.Fatal(err, g.lines)
	}
	got := g.calls[0]
	if got.FirstToken <= 0 || got.Total < got.FirstToken || got.Started.IsZero() {
		t.Errorf("began %v, first token after %v, ended after %v", got.Started, got.FirstToken, got.Total)
	}
	got.FirstToken, got.Total, got.Started = 0, 0, time.Time{}
	want := clientlib.CallInfo{
		Workload: "chat", Tenant: "acme", API: got.API, Stream: true, Attempts: 2, Endpoint: got.Endpoint,
		Outcome: got.Outcome, Usage: clientlib.Usage{Input: 20, Cached: 5, Output: 3}, Cost: got.Cost,
	}
	if diff := cmp.Diff(want, got); diff != "" || got.Outcome.Kind != clientlib.Served {
		t.Error(diff, got.Outcome)
	}
}

func TestACallIsToldOfOnceAfterItsLastAttempt(t *testing.T) {
	var g register
	r := setUp(t, observed(&g))
	r.a.Next(clienttest.Fail(503, "overloaded"))
	if _, _, err := r.answer(`{"model":"chat","stream":true}`); err != nil {
		t.Fatal(err)
	}
	want := []string{"attempt 1 at a", "attempt 2 at b", "call served"}
	if diff := cmp.Diff(want, g.lines); diff != "" {
		t.Error(diff)
	}
}

func TestACallEndsInAWord(t *testing.T) {
	for want, c := range map[string]clientlib.CallInfo{
		"served":       {Attempts: 1, Outcome: clientlib.Outcome{Kind: clientlib.Served}},
		"timed_out":    {Attempts: 2, Outcome: clientlib.Outcome{Kind: clientlib.TimedOut}, Err: context.Canceled},
		"shed_limited": {Err: fmt.Errorf("%w: %w", context.DeadlineExceeded, &clientlib.ShedError{Kind: route.ShedLimited})},
		"cancelled":    {Err: context.Canceled},
		"unroutable":   {Err: clientlib.ErrUnusable},
	} {
		if got := c.End(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestATracerFollowsACallThroughItsAttempts(t *testing.T) {
	var g register
	r := setUp(t, traced(&g))
	r.a.Next(clienttest.Fail(503, "overloaded"))
	if _, _, err := r.answer(`{"model":"chat"}`, "Traceparent", "caller"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"begin chat of default",
		"begin attempt 1 in call", "end attempt 1 faulted",
		"begin attempt 2 in call", "end attempt 2 served",
		"end served after 2",
	}
	if diff := cmp.Diff(want, g.lines); diff != "" {
		t.Error(diff)
	}
	sent := []string{r.a.Requests()[0].Header.Get("Traceparent"), r.b.Requests()[0].Header.Get("Traceparent")}
	if !slices.Equal(sent, []string{"attempt-1", "attempt-2"}) {
		t.Errorf("endpoints were told %q", sent)
	}
}

func TestWhatIsPickedIsACallOfOneAttempt(t *testing.T) {
	var g register
	r := setUp(t, observed(&g), traced(&g))
	a, err := r.Workload("chat").Pick(clientlib.Request{Tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	a.Settle(clientlib.Outcome{Kind: clientlib.Refused})
	a.Abandon()
	want := []string{
		"begin chat of acme", "begin attempt 1 in call",
		"end attempt 1 refused", "attempt 1 at a", "end refused after 1", "call refused",
	}
	if diff := cmp.Diff(want, g.lines); diff != "" {
		t.Error(diff)
	}
}

func TestACallSaysHowLongItWaited(t *testing.T) {
	var g register
	inHall(t, 1, func(_ *route.Catalog, c *clientlib.Config) { c.Observer = &g }, func(t *testing.T, h *hall) {
		h.enters(t.Context(), "1", clientlib.Request{}, 2*time.Second)
		h.enters(t.Context(), "2", clientlib.Request{}, time.Second)
		h.order("1", "2")
		for i, want := range []time.Duration{0, 2 * time.Second} {
			if got := g.calls[i].Waited; got != want {
				t.Errorf("call %d waited %v, want %v", i+1, got, want)
			}
		}
	})
}
