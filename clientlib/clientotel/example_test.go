package clientotel_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clientotel"
	"github.com/pointsman/pointsman/clientlib/clienttest"
)

// A program that exports a span of every call, and of the attempts that it took.
func Example() {
	first, second := clienttest.Start("first"), clienttest.Start("second")
	defer first.Close()
	defer second.Close()

	exporter := tracetest.NewInMemoryExporter() // a program's own sends them somewhere
	spans := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	tracer, err := clientotel.New(clientotel.Config{Spans: spans, Propagator: propagation.TraceContext{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := clientlib.Open(context.Background(), clientlib.Config{Catalog: clienttest.Pool("chat", first, second), Tracer: tracer})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	first.Always(clienttest.Fail(503, "overloaded"))
	second.Always(clienttest.Fail(503, "overloaded"))
	sdk := &http.Client{Transport: c.Transport(clientlib.TransportConfig{})}
	answer, err := sdk.Post("https://api.example/v1/chat/completions", "application/json", strings.NewReader(`{"model":"chat"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()

	for _, s := range exporter.GetSpans() {
		fmt.Println(s.SpanKind, s.Status.Code, s.Status.Description)
	}
	// Output:
	// client Error faulted
	// client Error faulted
	// internal Error faulted
}
