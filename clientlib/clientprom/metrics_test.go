package clientprom_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clientprom"
	"github.com/pointsman/pointsman/clientlib/route"
)

func served() clientlib.AttemptInfo {
	return clientlib.AttemptInfo{
		Workload: "chat", Endpoint: "a", Tenant: "acme", Number: 1, FirstToken: 400 * time.Millisecond, Total: 3 * time.Second,
		Outcome: clientlib.Outcome{Kind: clientlib.Served, HasUsage: true, Usage: clientlib.Usage{Input: 1000, Cached: 600, Written: 100, Output: 50}},
		Cost:    1_500_000,
	}
}

func seen() *clientprom.Metrics {
	m := clientprom.New(clientprom.Config{})
	first, second := served(), served()
	first.Outcome, first.FirstToken, first.Cost = clientlib.Outcome{Kind: clientlib.Faulted}, 0, 0
	second.Endpoint, second.Number, second.Outcome.Estimated = "b", 2, true
	m.Attempt(first)
	m.Attempt(second)
	m.Call(clientlib.CallInfo{
		Workload: "chat", Tenant: "acme", Attempts: 2, Waited: 2 * time.Second, FirstToken: 3 * time.Second, Total: 6 * time.Second,
		Outcome: second.Outcome, Usage: second.Outcome.Usage, Cost: second.Cost,
	})
	m.Call(clientlib.CallInfo{Workload: "chat", Tenant: "acme", Total: time.Second, Err: &clientlib.ShedError{Kind: route.ShedLimited}})
	m.Event(clientlib.Event{Kind: "opened", Endpoint: "a"})
	m.Event(clientlib.Event{Kind: "dropped", Count: 7})
	return m
}

func TestAttemptsCallsAndEventsAreCounted(t *testing.T) {
	want := `
# HELP pointsman_attempts_total Attempts that have ended.
# TYPE pointsman_attempts_total counter
pointsman_attempts_total{endpoint="a",outcome="faulted",workload="chat"} 1
pointsman_attempts_total{endpoint="b",outcome="served",workload="chat"} 1
# HELP pointsman_calls_total Calls that have ended, as their last attempt did, or shed.
# TYPE pointsman_calls_total counter
pointsman_calls_total{end="served",workload="chat"} 1
pointsman_calls_total{end="shed_limited",workload="chat"} 1
# HELP pointsman_cost_usd_total Money spent, in US dollars by the catalog's prices.
# TYPE pointsman_cost_usd_total counter
pointsman_cost_usd_total{endpoint="a",workload="chat"} 0
pointsman_cost_usd_total{endpoint="b",workload="chat"} 0.0015
# HELP pointsman_estimated_usages_total Attempts of which no usage was told; it is this library's estimate.
# TYPE pointsman_estimated_usages_total counter
pointsman_estimated_usages_total{endpoint="a",workload="chat"} 0
pointsman_estimated_usages_total{endpoint="b",workload="chat"} 1
# HELP pointsman_events_dropped_total Changes of state that were told too fast to be kept.
# TYPE pointsman_events_dropped_total counter
pointsman_events_dropped_total 7
# HELP pointsman_events_total Changes of state, by kind.
# TYPE pointsman_events_total counter
pointsman_events_total{kind="dropped"} 1
pointsman_events_total{kind="opened"} 1
# HELP pointsman_retries_total Attempts that followed another of the same call.
# TYPE pointsman_retries_total counter
pointsman_retries_total{endpoint="a",workload="chat"} 0
pointsman_retries_total{endpoint="b",workload="chat"} 1
# HELP pointsman_tenant_sheds_total Calls of a tenant that no endpoint could take.
# TYPE pointsman_tenant_sheds_total counter
pointsman_tenant_sheds_total{tenant="acme",workload="chat"} 1
# HELP pointsman_tenant_tokens_total Tokens used for a tenant, input and output.
# TYPE pointsman_tenant_tokens_total counter
pointsman_tenant_tokens_total{tenant="acme",workload="chat"} 1050
# HELP pointsman_tokens_total Tokens used; those cached and written are part of the input.
# TYPE pointsman_tokens_total counter
pointsman_tokens_total{endpoint="a",kind="cached",workload="chat"} 0
pointsman_tokens_total{endpoint="a",kind="input",workload="chat"} 0
pointsman_tokens_total{endpoint="a",kind="output",workload="chat"} 0
pointsman_tokens_total{endpoint="a",kind="written",workload="chat"} 0
pointsman_tokens_total{endpoint="b",kind="cached",workload="chat"} 600
pointsman_tokens_total{endpoint="b",kind="input",workload="chat"} 1000
pointsman_tokens_total{endpoint="b",kind="output",workload="chat"} 50
pointsman_tokens_total{endpoint="b",kind="written",workload="chat"} 100
`
	var names []string
	for line := range strings.Lines(want) {
		if word := strings.Fields(line); len(word) > 3 && word[1] == "TYPE" {
			names = append(names, word[2])
		}
	}
	if err := testutil.CollectAndCompare(seen(), strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestNamesAndUnitsAreAsPrometheusWantsThem(t *testing.T) {
	problems, err := testutil.CollectAndLint(seen())
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

func TestTimesAreObservedInSeconds(t *testing.T) {
	m := seen()
	for name, want := range map[string]string{
		"pointsman_call_wait_seconds":           "count 2 sum 2",
		"pointsman_call_first_token_seconds":    "count 1 sum 3",
		"pointsman_call_duration_seconds":       "count 2 sum 7",
		"pointsman_attempt_first_token_seconds": "count 1 sum 0.4",
		"pointsman_attempt_duration_seconds":    "count 2 sum 6",
	} {
		if got := histogram(t, m, name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// histogram sums up the histograms of that name, and wants each to be of both kinds.
func histogram(t *testing.T, m *clientprom.Metrics, name string) string {
	t.Helper()
	var count uint64
	var sum float64
	for _, f := range gather(t, m) {
		for _, s := range f.GetMetric() {
			if h := s.GetHistogram(); f.GetName() == name {
				count, sum = count+h.GetSampleCount(), sum+h.GetSampleSum()
				if h.Schema == nil || h.GetSampleCount() > 0 && len(h.GetBucket()) == 0 {
					t.Errorf("%s: want native and classic buckets", name)
				}
			}
		}
	}
	return fmt.Sprintf("count %d sum %v", count, sum)
}

func TestTenantsBeyondTheBoundAreOthers(t *testing.T) {
	m := clientprom.New(clientprom.Config{Tenants: []string{"acme"}, MaxTenants: 2})
	for _, tenant := range []string{"x", "y", "z", "acme", "x"} {
		m.Call(clientlib.CallInfo{Workload: "chat", Tenant: tenant, Attempts: 1, Usage: clientlib.Usage{Output: 1}})
	}
	want := `
# HELP pointsman_tenant_tokens_total Tokens used for a tenant, input and output.
# TYPE pointsman_tenant_tokens_total counter
pointsman_tenant_tokens_total{tenant="acme",workload="chat"} 1
pointsman_tenant_tokens_total{tenant="other",workload="chat"} 2
pointsman_tenant_tokens_total{tenant="x",workload="chat"} 2
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "pointsman_tenant_tokens_total"); err != nil {
		t.Error(err)
	}
}

func TestOnlyNamedTenantsHaveALabelWhenNoOthersMay(t *testing.T) {
	m := clientprom.New(clientprom.Config{Tenants: []string{"a", "b"}, MaxTenants: -1})
	for _, tenant := range []string{"c", "a", "b"} {
		m.Call(clientlib.CallInfo{Workload: "chat", Tenant: tenant, Attempts: 1})
	}
	if n := testutil.CollectAndCount(m, "pointsman_tenant_tokens_total"); n != 3 {
		t.Errorf("got %d tenants, want a, b and other", n)
	}
}

func TestAWorkloadThatNoCatalogHasGetsNoLabel(t *testing.T) {
	m := clientprom.New(clientprom.Config{})
	for i := range 100 {
		m.Call(clientlib.CallInfo{Workload: fmt.Sprint("guess-", i), Tenant: "default", Err: fmt.Errorf("begin: %w", clientlib.ErrUnknownWorkload)})
	}
	want := `
# HELP pointsman_calls_total Calls that have ended, as their last attempt did, or shed.
# TYPE pointsman_calls_total counter
pointsman_calls_total{end="unroutable",workload="other"} 100
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "pointsman_calls_total"); err != nil {
		t.Error(err)
	}
}

func TestAnAttemptAllocatesNothingAfterTheFirst(t *testing.T) {
	m, a := clientprom.New(clientprom.Config{}), served()
	c := clientlib.CallInfo{Workload: "chat", Tenant: "acme", Attempts: 1, Outcome: a.Outcome, Usage: a.Outcome.Usage, FirstToken: a.FirstToken, Total: a.Total}
	if n := testing.AllocsPerRun(1000, func() { m.Attempt(a); m.Call(c) }); n > 0 {
		t.Errorf("got %v allocations", n)
	}
}

func TestAnAbsurdUsageEndsNothing(t *testing.T) {
	m, a := clientprom.New(clientprom.Config{}), served()
	a.Outcome.Usage = clientlib.Usage{Input: -1, Cached: -1, Written: -1, Output: 1 << 62}
	m.Attempt(a)
	m.Call(clientlib.CallInfo{Workload: "chat", Attempts: 1, Usage: clientlib.Usage{Input: -1 << 63, Output: -5}})
	if n := testutil.CollectAndCount(m, "pointsman_tokens_total"); n != 4 {
		t.Errorf("got %d kinds of tokens, want 4", n)
	}
}

func BenchmarkAttempt(b *testing.B) {
	m, a := clientprom.New(clientprom.Config{}), served()
	b.ReportAllocs()
	for b.Loop() {
		m.Attempt(a)
	}
}

func TestSeriesAreMadeOnceWhoeverComesFirst(t *testing.T) {
	m, a := clientprom.New(clientprom.Config{}), served()
	done := make(chan struct{})
	for range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range 200 {
				a := a
				a.Endpoint = fmt.Sprint("e", i%20)
				m.Attempt(a)
			}
		}()
	}
	for range 8 {
		<-done
	}
	total := 0.0
	for _, f := range gather(t, m) {
		for _, s := range f.GetMetric() {
			if f.GetName() == "pointsman_attempts_total" {
				total += s.GetCounter().GetValue()
			}
		}
	}
	if total != 1600 {
		t.Errorf("got %v attempts, want 1600", total)
	}
}
