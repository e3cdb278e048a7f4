package clientprom

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pointsman/pointsman/clientlib"
)

// Buckets of the classic histograms, in seconds: models answer in tenths of seconds to
// minutes. The native ones need none.
var (
	firstTokenBuckets = []float64{.05, .1, .2, .3, .5, .75, 1, 1.5, 2, 3, 5, 8, 12, 20, 30, 60}
	durationBuckets   = []float64{.1, .25, .5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600}
	waitBuckets       = []float64{.001, .01, .05, .1, .25, .5, 1, 2, 5, 10, 20, 30, 60}
)

// series are all that is counted, by their labels.
type series struct {
	attempts, retries, tokens, cost, estimated *prometheus.CounterVec
	attemptFirstToken, attemptDuration         *prometheus.HistogramVec

	calls, tenantTokens, tenantSheds          *prometheus.CounterVec
	callFirstToken, callDuration, callWaiting *prometheus.HistogramVec

	events  *prometheus.CounterVec
	dropped prometheus.Counter
}

func newSeries() series {
	return series{
		attempts:  counter("attempts_total", "Attempts that have ended.", "workload", "endpoint", "outcome"),
		retries:   counter("retries_total", "Attempts that followed another of the same call.", "workload", "endpoint"),
		tokens:    counter("tokens_total", "Tokens used; those cached and written are part of the input.", "workload", "endpoint", "kind"),
		cost:      counter("cost_usd_total", "Money spent, in US dollars by the catalog's prices.", "workload", "endpoint"),
		estimated: counter("estimated_usages_total", "Attempts of which no usage was told; it is this library's estimate.", "workload", "endpoint"),

		attemptFirstToken: histogram("attempt_first_token_seconds", "Time from an attempt's start to its first token.", firstTokenBuckets, "workload", "endpoint"),
		attemptDuration:   histogram("attempt_duration_seconds", "Time that an attempt took, streams to their end.", durationBuckets, "workload", "endpoint"),

		calls:        counter("calls_total", "Calls that have ended, as their last attempt did, or shed.", "workload", "end"),
		tenantTokens: counter("tenant_tokens_total", "Tokens used for a tenant, input and output.", "workload", "tenant"),
		tenantSheds:  counter("tenant_sheds_total", "Calls of a tenant that no endpoint could take.", "workload", "tenant"),

		callFirstToken: histogram("call_first_token_seconds", "Time from a call's start to the first token of its last attempt.", firstTokenBuckets, "workload"),
		callDuration:   histogram("call_duration_seconds", "Time that a call took, waits and all attempts included.", durationBuckets, "workload"),
		callWaiting:    histogram("call_wait_seconds", "Time that a call waited for its turn, 0 included.", waitBuckets, "workload"),

		events:  counter("events_total", "Changes of state, by kind.", "kind"),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "events_dropped_total", Help: "Changes of state that were told too fast to be kept."}),
	}
}

func (s *series) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		s.attempts, s.retries, s.tokens, s.cost, s.estimated, s.attemptFirstToken, s.attemptDuration,
		s.calls, s.tenantTokens, s.tenantSheds, s.callFirstToken, s.callDuration, s.callWaiting, s.events, s.dropped,
	}
}

const prefix = "pointsman_"

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: prefix + name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
	}, labels)
}

type attemptKey struct {
	workload, endpoint string
	outcome            clientlib.OutcomeKind
}

// attempt is the series of attempts with equal labels.
type attempt struct {
	total, retries, input, cached, written, output, cost, estimated prometheus.Counter
	firstToken, duration                                            prometheus.Observer
}

func (s *series) attempt(k attemptKey) *attempt {
	w, e := k.workload, k.endpoint
	return &attempt{
		total: s.attempts.WithLabelValues(w, e, k.outcome.String()), retries: s.retries.WithLabelValues(w, e),
		input: s.tokens.WithLabelValues(w, e, "input"), cached: s.tokens.WithLabelValues(w, e, "cached"),
		written: s.tokens.WithLabelValues(w, e, "written"), output: s.tokens.WithLabelValues(w, e, "output"),
		cost: s.cost.WithLabelValues(w, e), estimated: s.estimated.WithLabelValues(w, e),
		firstToken: s.attemptFirstToken.WithLabelValues(w, e), duration: s.attemptDuration.WithLabelValues(w, e),
	}
}

type callKey struct{ workload, tenant, end string }

// call is the series of calls with equal labels.
type call struct {
	total, tokens              prometheus.Counter
	firstToken, duration, wait prometheus.Observer
	sheds                      prometheus.Counter // nil: it was none
}

func (s *series) call(k callKey) *call {
	w := k.workload
	c := &call{
		total: s.calls.WithLabelValues(w, k.end), tokens: s.tenantTokens.WithLabelValues(w, k.tenant),
		firstToken: s.callFirstToken.WithLabelValues(w), duration: s.callDuration.WithLabelValues(w), wait: s.callWaiting.WithLabelValues(w),
	}
	if strings.HasPrefix(k.end, "shed_") {
		c.sheds = s.tenantSheds.WithLabelValues(w, k.tenant)
	}
	return c
}
