// Package clientotel gives OpenTelemetry a span for every call and, below it, one for every
// attempt, which the endpoint is told of; and the metrics of generative AI. Names are those
// of the semantic conventions 1.41.0, and pointsman.… for what these have no name for.
// Nothing of prompts or answers is in it, nor what an endpoint says of its errors.
package clientotel

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/pointsman/pointsman/clientlib"
)

// Config says where spans and metrics go. What is nil is OpenTelemetry's global one, which
// does nothing unless the program has set it.
type Config struct {
	Spans      trace.TracerProvider
	Meters     metric.MeterProvider
	Propagator propagation.TextMapPropagator // writes into an attempt's headers
}

// Tracer makes the spans and records the metrics: it is for clientlib.Config.Tracer.
type Tracer struct {
	spans      trace.Tracer
	propagator propagation.TextMapPropagator
	metrics
}

const scope = "github.com/pointsman/pointsman/clientlib/clientotel"

// New makes a tracer; its error is the meter's, which could not make its instruments.
func New(c Config) (*Tracer, error) {
	if c.Spans == nil {
		c.Spans = otel.GetTracerProvider()
	}
	if c.Meters == nil {
		c.Meters = otel.GetMeterProvider()
	}
	if c.Propagator == nil {
		c.Propagator = otel.GetTextMapPropagator()
	}
	m, err := newMetrics(c.Meters.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)))
	if err != nil {
		return nil, err
	}
	return &Tracer{c.Spans.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)), c.Propagator, m}, nil
}

// Call begins the span of a call, of kind internal: what is sent is its attempts'. So it has
// no usage, which would count twice.
func (t *Tracer) Call(ctx context.Context, c clientlib.CallInfo) (context.Context, func(clientlib.CallInfo)) {
	ctx, span := t.spans.Start(ctx, spanName(c.API, c.Workload), trace.WithAttributes(
		attribute.String("pointsman.workload", c.Workload), attribute.String("pointsman.tenant", c.Tenant)))
	return ctx, func(c clientlib.CallInfo) {
		if span.IsRecording() {
			span.SetAttributes(callEnd(&c)...)
			end(span, c.End())
		}
		span.End()
	}
}

// Attempt begins the span of an attempt, of kind client.
func (t *Tracer) Attempt(ctx context.Context, a clientlib.AttemptInfo, h http.Header) (context.Context, func(clientlib.AttemptInfo)) {
	ctx, span := t.spans.Start(ctx, spanName(a.API, a.Model), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attemptStart(&a)...))
	if h != nil {
		t.propagator.Inject(ctx, propagation.HeaderCarrier(h))
	}
	return ctx, func(a clientlib.AttemptInfo) {
		if span.IsRecording() {
			span.SetAttributes(attemptEnd(&a)...)
			end(span, a.Outcome.Kind.String())
		}
		span.End()
		t.record(ctx, &a)
	}
}

// end sets a span's status. What its caller gave up is no error.
func end(span trace.Span, how string) {
	if failed(how) {
		span.SetAttributes(semconv.ErrorTypeKey.String(how))
		span.SetStatus(codes.Error, how)
	}
}

func failed(how string) bool {
	return how != clientlib.Served.String() && how != clientlib.Cancelled.String()
}
