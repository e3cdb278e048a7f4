package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Metric is one figure of a result, or of a part of it.
type Metric struct {
	Name  string
	Unit  Unit
	Means string // for people
	Whole bool   // there is none of a part
	of    func(r *Result, m *Measures) float64
}

// Part is which calls, or attempts, a figure is of; the zero value is all calls.
type Part struct{ Kind, Name string }

// The kinds of parts.
const (
	OfWorkload = "workload"
	OfTenant   = "tenant"
	OfEndpoint = "endpoint"
)

// Of is the metric of a part; false: the run has no such part.
func (x Metric) Of(r *Result, p Part) (float64, bool) {
	m := r.part(p)
	if m == nil {
		return 0, false
	}
	return x.of(r, m), true
}

func (r *Result) part(p Part) *Measures {
	var parts []Named
	switch p.Kind {
	case "":
		return &r.All
	case OfWorkload:
		parts = r.By.Workloads
	case OfTenant:
		parts = r.By.Tenants
	case OfEndpoint:
		parts = r.By.Endpoints
	}
	for i := range parts {
		if parts[i].Name == p.Name {
			return &parts[i].Measures
		}
	}
	return nil
}

// Find is the metric of that name. Those of one kind of error or shed are named by the kind:
// errors_timed_out, sheds_full.
func Find(name string) (Metric, error) {
	if i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return metrics[i], nil
	}
	if kind, ok := strings.CutPrefix(name, "errors_"); ok && kind != "" {
		return fraction(name, "", func(m *Measures) (int64, int64) { return m.Failures[kind], m.Calls }), nil
	}
	if kind, ok := strings.CutPrefix(name, "sheds_"); ok && kind != "" {
		return fraction(name, "", func(m *Measures) (int64, int64) { return m.Sheds[kind], m.Calls }), nil
	}
	return Metric{}, fmt.Errorf("no metric %q%s", name, nearest(name, names()))
}

// Metrics are all that have a name of their own, in the order in which help lists them.
func Metrics() []Metric { return slices.Clone(metrics) }

func names() (all []string) {
	for _, m := range metrics {
		all = append(all, m.Name)
	}
	return all
}

// metrics is built once and never changed.
var metrics = slices.Concat(
	times("ttft", "to the first token, since the scheduled arrival", func(m *Measures) *Times { return &m.TTFT }),
	times("total", "to the end of the answer", func(m *Measures) *Times { return &m.Total }),
	times("queue", "from the arrival to the last attempt's sending", func(m *Measures) *Times { return &m.Queue }),
	times("each", "for a token of the answer, after the first", func(m *Measures) *Times { return &m.Each }),
	counts, fractions, amounts,
)

func times(name, means string, of func(*Measures) *Times) (all []Metric) {
	add := func(suffix, word string, f func(*Times) float64) {
		all = append(all, Metric{Name: name + "_" + suffix, Unit: Time, Means: word + " time " + means,
			of: func(_ *Result, m *Measures) float64 {
				if t := of(m); t.Count() > 0 {
					return f(t)
				}
				return math.NaN() // who serves nobody is not the fastest
			}})
	}
	add("mean", "mean", func(t *Times) float64 { return t.Mean() })
	for _, q := range []struct {
		suffix string
		p      float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}} {
		add(q.suffix, fmt.Sprintf("%g %% quantile of the", 100*q.p), func(t *Times) float64 { return t.Quantile(q.p) })
	}
	add("max", "longest", func(t *Times) float64 { return float64(t.Max()) })
	return all
}

func count(name, means string, of func(*Measures) int64) Metric {
	return Metric{Name: name, Unit: Count, Means: means, of: func(_ *Result, m *Measures) float64 { return float64(of(m)) }}
}

var counts = []Metric{
	count("calls", "that came after the warm-up", func(m *Measures) int64 { return m.Calls }),
	count("served", "calls served", func(m *Measures) int64 { return m.Served }),
	count("failed", "calls that ended in an error", func(m *Measures) int64 { return total(m.Failures) }),
	count("shed", "calls that nobody was found for", func(m *Measures) int64 { return total(m.Sheds) }),
	count("late", "calls not served by their deadline, or whose callers left", func(m *Measures) int64 { return m.Late }),
	count("retries", "attempts beyond one a call", func(m *Measures) int64 { return m.Retries }),
	count("invalid", "answers that a validator refused, or would have", func(m *Measures) int64 { return m.Invalid }),
	count("wrong", "invalid answers that were delivered", func(m *Measures) int64 { return m.Wrong }),
	count("violations", "attempts that reached an endpoint they must not: 0, always", func(m *Measures) int64 { return m.Violations }),
}

func fraction(name, means string, of func(*Measures) (part, whole int64)) Metric {
	return Metric{Name: name, Unit: Fraction, Means: means, of: func(_ *Result, m *Measures) float64 {
		if part, whole := of(m); whole > 0 {
			return over(part, whole)
		}
		return math.NaN()
	}}
}

var fractions = []Metric{
	fraction("errors", "failed, of the calls", func(m *Measures) (int64, int64) { return total(m.Failures), m.Calls }),
	fraction("sheds", "shed, of the calls", func(m *Measures) (int64, int64) { return total(m.Sheds), m.Calls }),
	fraction("lates", "late, of the calls", func(m *Measures) (int64, int64) { return m.Late, m.Calls }),
	fraction("retry_rate", "retries, to the calls", func(m *Measures) (int64, int64) { return m.Retries, m.Calls }),
	fraction("validity", "valid, of the answers delivered", func(m *Measures) (int64, int64) { return m.Served - m.Wrong, m.Served }),
	fraction("hit_rate", "tokens that caches had, of the prompts served", func(m *Measures) (int64, int64) { return m.Cached, m.Input }),
	{Name: "share", Unit: Fraction, Means: "of the calls, or an endpoint's of the attempts", of: share},
}

var amounts = []Metric{
	{Name: "goodput", Unit: Rate, Means: "calls served in time, a second", of: func(r *Result, m *Measures) float64 { return r.second(m.Served - m.Wrong) }},
	{Name: "goodput_tokens", Unit: Rate, Means: "output tokens of calls served in time, a second", of: func(r *Result, m *Measures) float64 { return r.second(m.Output) }},
	{Name: "cost", Unit: USD, Means: "of all attempts", of: func(_ *Result, m *Measures) float64 { return float64(m.Cost) / 1e9 }},
	{Name: "cost_per_1000", Unit: USD, Means: "of 1,000 calls served", of: costPer1000},
	{Name: "fairness", Unit: Plain, Whole: true, Means: "between tenants: Jain's index of how fast they are served, 1 at best", of: func(r *Result, _ *Measures) float64 { return r.fairness() }},
	{Name: "worst_slowdown", Unit: Plain, Whole: true, Means: "of the tenant that waits longest, next to being alone (or, where that is not known, to all)", of: func(r *Result, _ *Measures) float64 { return r.worstSlowdown() }},
	{Name: "trips", Unit: Count, Whole: true, Means: "openings of the fleet's breakers", of: func(r *Result, _ *Measures) float64 { return float64(r.trips()) }},
	{Name: "avoided", Unit: Time, Whole: true, Means: "longest time from a fault until all clients went elsewhere; unbounded if they never did", of: func(r *Result, _ *Measures) float64 { return r.longest(func(f Fault) int64 { return f.Avoided }) }},
	{Name: "returned", Unit: Time, Whole: true, Means: "longest time from a fault's end until its endpoints had half of their share again", of: func(r *Result, _ *Measures) float64 { return r.longest(func(f Fault) int64 { return f.Returned }) }},
	{Name: "fault_failures", Unit: Count, Whole: true, Means: "attempts sent to faulty endpoints until they were avoided, that failed", of: func(r *Result, _ *Measures) float64 { return float64(r.faultFailures()) }},
	{Name: "zero_ttft", Unit: Time, Whole: true, Means: "limit: mean time to first token with nobody else there", of: func(r *Result, _ *Measures) float64 { return r.Limits.ZeroTTFT }},
	{Name: "possible_hits", Unit: Fraction, Whole: true, Means: "limit: tokens that one cache which forgets nothing would have, of the prompts", of: func(r *Result, _ *Measures) float64 { return r.Limits.HitRate }},
	{Name: "hit_part", Unit: Fraction, Whole: true, Means: "the hit rate, of possible_hits", of: hitPart},
	{Name: "pooled_ttft", Unit: Time, Whole: true, Means: "limit: mean time to first token of one server with everyone's speed", of: func(r *Result, _ *Measures) float64 { return r.Limits.PooledTTFT }},
}

func over(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func total(kinds map[string]int64) (n int64) {
	for _, k := range kinds {
		n += k
	}
	return n
}

func hitPart(r *Result, m *Measures) float64 {
	if r.Limits.HitRate == 0 {
		return 0
	}
	return over(m.Cached, m.Input) / r.Limits.HitRate
}

func (r *Result) second(n int64) float64 { return over(n*1_000_000, r.Duration-r.Warmup) }

func costPer1000(_ *Result, m *Measures) float64 {
	if m.Served == 0 {
		return math.NaN()
	}
	return float64(m.Cost) / 1e6 / float64(m.Served)
}

func share(r *Result, m *Measures) float64 {
	all := r.All.Calls
	if r.isEndpoint(m) {
		all = 0
		for i := range r.By.Endpoints {
			all += r.By.Endpoints[i].Calls
		}
	}
	return over(m.Calls, all)
}

func (r *Result) isEndpoint(m *Measures) bool {
	for i := range r.By.Endpoints {
		if &r.By.Endpoints[i].Measures == m {
			return true
		}
	}
	return false
}

func (r *Result) trips() (n int) {
	for _, t := range r.Turns {
		if t.Kind == "opened" && t.Client < 0 {
			n++
		}
	}
	return n
}

func (r *Result) faultFailures() (n int64) {
	for _, f := range r.Faults {
		n += f.Failed
	}
	return n
}

// longest is without bound where it never came. Nobody goes elsewhere for a fault of the
// control plane.
func (r *Result) longest(of func(Fault) int64) (most float64) {
	for _, f := range r.Faults {
		switch at := of(f); {
		case len(f.Endpoints) == 0:
		case at < 0:
			return math.Inf(1)
		default:
			most = max(most, float64(at))
		}
	}
	return most
}
