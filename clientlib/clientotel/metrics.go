package clientotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/pointsman/pointsman/clientlib"
)

// The buckets that the conventions want.
var (
	durationBuckets = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenBuckets    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	firstBuckets    = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10}
)

// metrics are those of attempts, each an operation of generative AI.
type metrics struct {
	duration genaiconv.ClientOperationDuration
	first    genaiconv.ClientOperationTimeToFirstChunk
	tokens   genaiconv.ClientTokenUsage
}

func newMetrics(m metric.Meter) (metrics, error) {
	duration, bad := genaiconv.NewClientOperationDuration(m, metric.WithExplicitBucketBoundaries(durationBuckets...))
	first, worse := genaiconv.NewClientOperationTimeToFirstChunk(m, metric.WithExplicitBucketBoundaries(firstBuckets...))
	tokens, worst := genaiconv.NewClientTokenUsage(m, metric.WithExplicitBucketBoundaries(tokenBuckets...))
	return metrics{duration, first, tokens}, errors.Join(bad, worse, worst)
}

func (m *metrics) record(ctx context.Context, a *clientlib.AttemptInfo) {
	if operation(a.API) == "" || !m.duration.Enabled(ctx) {
		return
	}
	all := common(a)
	if u := a.Outcome.Usage; a.Outcome.HasUsage && !a.Outcome.Estimated {
		m.tokens.RecordSet(ctx, u.Input, with(all, semconv.GenAITokenTypeInput))
		m.tokens.RecordSet(ctx, u.Output, with(all, semconv.GenAITokenTypeOutput))
	}
	if how := a.Outcome.Kind.String(); failed(how) {
		all = append(all, semconv.ErrorTypeKey.String(how))
	}
	m.duration.RecordSet(ctx, a.Total.Seconds(), attribute.NewSet(all...))
	if a.Stream && a.FirstToken > 0 {
		m.first.RecordSet(ctx, a.FirstToken.Seconds(), attribute.NewSet(all...))
	}
}

func with(all []attribute.KeyValue, one attribute.KeyValue) attribute.Set {
	return attribute.NewSet(append(all[:len(all):len(all)], one)...)
}
