package clientotel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clientotel"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

// rig is a client of two endpoints, b below a, and the spans of what it does.
type rig struct {
	*clienttest.Client
	a, b  *clienttest.Endpoint
	spans *tracetest.SpanRecorder
	own   trace.Tracer // the program's
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{a: clienttest.Start("a"), b: clienttest.Start("b"), spans: tracetest.NewSpanRecorder()}
	t.Cleanup(r.a.Close)
	t.Cleanup(r.b.Close)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	r.own = provider.Tracer("program")
	tracer, err := clientotel.New(clientotel.Config{Spans: provider, Propagator: propagation.TraceContext{}})
	if err != nil {
		t.Fatal(err)
	}
	catalog := clienttest.Pool("chat", r.a, r.b)
	catalog.Workloads[0].Tiers = []route.Tier{{Name: "one", Endpoints: []string{"a"}}, {Name: "two", Endpoints: []string{"b"}}}
	if r.Client, err = clienttest.Open(t.Context(), clientlib.Config{Catalog: catalog, Tracer: tracer}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

const (
	whole  = `{"model":"chat","messages":[{"role":"user","content":"a secret plan"}]}`
	stream = `{"model":"chat","stream":true,"messages":[{"role":"user","content":"a secret plan"}]}`
)

func (r *rig) post(t *testing.T, ctx context.Context, body string) *http.Response {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.example/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := r.HTTP().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func read(answer *http.Response) error {
	defer answer.Body.Close()
	_, err := io.Copy(io.Discard, answer.Body)
	return err
}

// told is the spans that have ended, in short: name, kind, parent, status, how it ended.
func (r *rig) told() []string {
	names := map[trace.SpanID]string{}
	for _, s := range r.spans.Started() {
		names[s.SpanContext().SpanID()] = s.Name()
	}
	var all []string
	for _, s := range r.spans.Ended() {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s (%v) in %q %v %s", s.Name(), s.SpanKind(), names[s.Parent().SpanID()], s.Status().Code, s.Status().Description)))
	}
	return all
}

func TestACallIsASpanAndEachOfItsAttemptsOneBelow(t *testing.T) {
	r := newRig(t)
	r.a.Next(clienttest.Fail(503, "overloaded"))
	ctx, own := r.own.Start(t.Context(), "request")
	if err := read(r.post(t, ctx, whole)); err != nil {
		t.Fatal(err)
	}
	own.End()
	want := []string{
		`chat model-at-a (client) in "chat chat" Error faulted`,
		`chat model-at-b (client) in "chat chat" Unset`,
		`chat chat (internal) in "request" Unset`,
		`request (internal) in "" Unset`,
	}
	if diff := cmp.Diff(want, r.told()); diff != "" {
		t.Error(diff)
	}
}

func TestEveryEndpointIsToldOfItsOwnAttempt(t *testing.T) {
	r := newRig(t)
	r.a.Next(clienttest.Fail(503, "overloaded"))
	if err := read(r.post(t, t.Context(), whole)); err != nil {
		t.Fatal(err)
	}
	for i, e := range []*clienttest.Endpoint{r.a, r.b} {
		s := r.spans.Ended()[i].SpanContext()
		want := fmt.Sprintf("00-%v-%v-01", s.TraceID(), s.SpanID())
		if got := e.Requests()[0].Header.Get("Traceparent"); got != want {
			t.Errorf("%s: got %s, want %s", e.Name, got, want)
		}
	}
}

func TestAnAttemptsSpanEndsAtItsStreamsEnd(t *testing.T) {
	r := newRig(t)
	answer := r.post(t, t.Context(), stream)
	if told := r.told(); len(told) > 0 {
		t.Error("before the stream was read:", told)
	}
	if err := read(answer); err != nil {
		t.Fatal(err)
	}
	want := []string{`chat model-at-a (client) in "chat chat" Unset`, `chat chat (internal) in "" Unset`}
	if diff := cmp.Diff(want, r.told()); diff != "" {
		t.Error(diff)
	}
}

func TestABrokenStreamIsAnError(t *testing.T) {
	r := newRig(t)
	r.a.Next(clienttest.Cut("half of it"))
	if err := read(r.post(t, t.Context(), stream)); err == nil {
		t.Fatal("want an error")
	}
	want := []string{`chat model-at-a (client) in "chat chat" Error faulted`, `chat chat (internal) in "" Error faulted`}
	if diff := cmp.Diff(want, r.told()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatTheCallerGivesUpIsNoError(t *testing.T) {
	r := newRig(t)
	r.a.Next(clienttest.Stall("half of it"))
	answer := r.post(t, t.Context(), stream)
	if _, err := io.ReadFull(answer.Body, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	want := []string{`chat model-at-a (client) in "chat chat" Unset`, `chat chat (internal) in "" Unset`}
	if diff := cmp.Diff(want, r.told()); diff != "" {
		t.Error(diff)
	}
	for _, s := range r.spans.Ended() {
		if how := fmt.Sprint(s.Attributes()); !strings.Contains(how, "cancelled") {
			t.Errorf("%s: got %s", s.Name(), how)
		}
	}
}

func TestACallThatIsShedHasNoAttempt(t *testing.T) {
	r := newRig(t)
	_, err := clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{Needs: []string{"audio"}}, func(context.Context, clientlib.Attempt) (int, error) { return 0, nil })
	if !errors.Is(err, clientlib.ErrShed) {
		t.Fatal(err)
	}
	want := []string{`chat chat (internal) in "" Error shed_incompatible`}
	if diff := cmp.Diff(want, r.told()); diff != "" {
		t.Error(diff)
	}
}

func TestDoSendsInTheAttemptsSpan(t *testing.T) {
	r := newRig(t)
	sent, err := clientlib.Do(t.Context(), r.Workload("chat"), clientlib.Request{API: "openai.chat"}, func(ctx context.Context, a clientlib.Attempt) (trace.SpanID, error) {
		a.Settle(clientlib.Outcome{Kind: clientlib.Served})
		return trace.SpanContextFromContext(ctx).SpanID(), nil
	})
	if err != nil || len(r.spans.Ended()) != 2 || sent != r.spans.Ended()[0].SpanContext().SpanID() {
		t.Errorf("got span %v, %v of %v", sent, err, r.told())
	}
}

func TestNothingOfPromptsAnswersAndErrorsIsInASpan(t *testing.T) {
	r := newRig(t)
	r.a.Next(clienttest.Fail(400, "a secret plan is refused"), clienttest.Fail(503, "a secret plan"), clienttest.Say("a secret plan"))
	for range 3 {
		_ = read(r.post(t, t.Context(), stream))
	}
	if n := len(r.spans.Ended()); n < 6 {
		t.Fatalf("got %d spans", n)
	}
	for _, s := range r.spans.Ended() {
		if all := fmt.Sprint(s.Name(), s.Attributes(), s.Events(), s.Status()); strings.Contains(all, "secret") {
			t.Error(all)
		}
		if s.Status().Code == codes.Ok {
			t.Error("a library leaves Ok to the program")
		}
	}
}
