package clientotel_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clientotel"
	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

func served() clientlib.AttemptInfo {
	return clientlib.AttemptInfo{
		Workload: "support", Tenant: "acme", Endpoint: "eu-1", Provider: "azure-eu", Dialect: "azure-openai", BaseURL: "https://eu.example/openai",
		Model: "gpt-5", API: "openai.chat", Stream: true, Catalog: route.CatalogVersion{Revision: 7}, Number: 2, Probe: true,
		FirstToken: 400 * time.Millisecond, Total: 3 * time.Second, Cost: 1_500_000, Finish: dialect.Truncated, RequestID: "req-1", ResponseID: "chatcmpl-1",
		Outcome: clientlib.Outcome{Kind: clientlib.Served, Status: 200, HasUsage: true, Usage: clientlib.Usage{Input: 1000, Cached: 600, Written: 100, Output: 50}},
	}
}

// attempt is the attributes of an attempt's span, and what the meter was told.
func attempt(t *testing.T, a clientlib.AttemptInfo) (span, metrics []string) {
	t.Helper()
	spans, meter := tracetest.NewSpanRecorder(), &meter{}
	tracer, err := clientotel.New(clientotel.Config{Spans: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)), Meters: meters{only: meter}})
	if err != nil {
		t.Fatal(err)
	}
	_, end := tracer.Attempt(t.Context(), a, http.Header{})
	end(a)
	return written(spans.Ended()[0].Attributes()), meter.told
}

func written(all []attribute.KeyValue) []string {
	var out []string
	for _, kv := range all {
		out = append(out, fmt.Sprintf("%s=%s", kv.Key, kv.Value.String()))
	}
	slices.Sort(out)
	return out
}

func TestAnAttemptIsToldInTheConventionsWords(t *testing.T) {
	want := []string{
		"gen_ai.operation.name=chat",
		"gen_ai.provider.name=azure.ai.openai",
		"gen_ai.request.model=gpt-5",
		"gen_ai.request.stream=true",
		`gen_ai.response.finish_reasons=["length"]`,
		"gen_ai.response.id=chatcmpl-1",
		"gen_ai.response.time_to_first_chunk=0.4",
		"gen_ai.usage.cache_creation.input_tokens=100",
		"gen_ai.usage.cache_read.input_tokens=600",
		"gen_ai.usage.input_tokens=1000",
		"gen_ai.usage.output_tokens=50",
		"http.response.status_code=200",
		"pointsman.attempt=2",
		"pointsman.catalog.revision=7",
		"pointsman.cost.nano_usd=1500000",
		"pointsman.endpoint=eu-1",
		"pointsman.outcome=served",
		"pointsman.phase=complete",
		"pointsman.probe=true",
		"pointsman.request_id=req-1",
		"pointsman.tenant=acme",
		"pointsman.workload=support",
		"server.address=eu.example",
		"server.port=443",
	}
	got, _ := attempt(t, served())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatWasEstimatedIsNotToldAsTokens(t *testing.T) {
	a := served()
	a.Outcome.Estimated = true
	span, metrics := attempt(t, a)
	for _, s := range append(span, metrics...) {
		if strings.Contains(s, "token") && strings.Contains(s, "usage") {
			t.Error(s)
		}
	}
	if !slices.Contains(span, "pointsman.cost.estimated=true") {
		t.Error(span)
	}
}

func TestAnAttemptsSpanIsCalledByWhatItDoesAndItsModel(t *testing.T) {
	for _, c := range []struct{ api, model, want string }{
		{"openai.chat", "gpt-5", "chat gpt-5"},
		{"openai.embeddings", "small", "embeddings small"},
		{"http", "", "http"},
	} {
		spans := tracetest.NewSpanRecorder()
		tracer, err := clientotel.New(clientotel.Config{Spans: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))})
		if err != nil {
			t.Fatal(err)
		}
		a := served()
		a.API, a.Model = c.api, c.model
		_, end := tracer.Attempt(t.Context(), a, http.Header{})
		end(a)
		if got := spans.Ended()[0].Name(); got != c.want {
			t.Errorf("%s of %q: %q, want %q", c.api, c.model, got, c.want)
		}
	}
}

func TestAPlainRequestIsNoGenerativeAI(t *testing.T) {
	a := served()
	a.API, a.Model = "http", "search"
	span, metrics := attempt(t, a)
	for _, s := range append(span, metrics...) {
		if strings.HasPrefix(s, "gen_ai.operation") || strings.HasPrefix(s, "gen_ai.provider") {
			t.Error(s)
		}
	}
}

func TestTheMeterIsToldOfEachAttempt(t *testing.T) {
	labels := " gen_ai.operation.name=chat gen_ai.provider.name=azure.ai.openai gen_ai.request.model=gpt-5"
	rest := " pointsman.endpoint=eu-1 pointsman.workload=support server.address=eu.example server.port=443"
	_, got := attempt(t, served())
	want := []string{
		"gen_ai.client.token.usage 1000" + labels + " gen_ai.token.type=input" + rest,
		"gen_ai.client.token.usage 50" + labels + " gen_ai.token.type=output" + rest,
		"gen_ai.client.operation.duration 3" + labels + rest,
		"gen_ai.client.operation.time_to_first_chunk 0.4" + labels + rest,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	failed := served()
	failed.Outcome, failed.FirstToken = clientlib.Outcome{Kind: clientlib.TimedOut}, 0
	_, got = attempt(t, failed)
	if diff := cmp.Diff([]string{"gen_ai.client.operation.duration 3 error.type=timed_out" + labels + rest}, got); diff != "" {
		t.Error(diff)
	}
}

// meters gives its one meter to everybody.
type meters struct {
	noop.MeterProvider
	only *meter
}

func (m meters) Meter(string, ...metric.MeterOption) metric.Meter { return m.only }

// meter writes down what its histograms are told.
type meter struct {
	noop.Meter
	told []string
}

func (m *meter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return seconds{name: name, meter: m}, nil
}

func (m *meter) Int64Histogram(name string, _ ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	return tokens{name: name, meter: m}, nil
}

func (m *meter) note(name string, v any, options []metric.RecordOption) {
	set := metric.NewRecordConfig(options).Attributes()
	m.told = append(m.told, fmt.Sprint(name, " ", v, " ", strings.Join(written(set.ToSlice()), " ")))
}

type seconds struct {
	noop.Float64Histogram
	name  string
	meter *meter
}

func (seconds) Enabled(context.Context) bool { return true }

func (s seconds) Record(_ context.Context, v float64, o ...metric.RecordOption) {
	s.meter.note(s.name, v, o)
}

type tokens struct {
	noop.Int64Histogram
	name  string
	meter *meter
}

func (tokens) Enabled(context.Context) bool { return true }

func (s tokens) Record(_ context.Context, v int64, o ...metric.RecordOption) {
	s.meter.note(s.name, v, o)
}
