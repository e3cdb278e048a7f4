package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// study is one section of the page: a scenario with some of its policies, at one set of values of its variables or
// along one of them.
type study struct {
	name   string   // of its words and plots
	file   string   // of the scenario, without .hcl; empty: as the name
	title  string   // empty: the scenario's
	vars   []string // name=value
	sweep  string   // name=a,b,c
	take   []string // patterns of policies' names, after ! of those that are left out; none: all
	seeds  int      // 0: as the scenario says
	first  string   // the policy that is held against the others
	by     []string // the figures that say who is better: two, the first one first
	also   []column // beside those that all have
	plots  []string // by the names of figures
	suffix string   // of all of its policies
}

// column is one figure of each policy.
type column struct{ head, figure string }

const ours = "predictive" // the strategy that is judged, where a study does not say another

func (s study) scenario() string {
	if s.file != "" {
		return s.file
	}
	return s.name
}

func (s study) takes(policy string) bool {
	for _, pattern := range s.take {
		name, not := strings.CutPrefix(pattern, "!")
		if ok, _ := path.Match(name, policy); ok {
			return !not
		}
	}
	return !slices.ContainsFunc(s.take, func(p string) bool { return p[0] != '!' })
}

func (s study) judged() string {
	if s.first != "" {
		return s.first
	}
	return ours + s.suffix
}

func (s study) figures() []string {
	if s.by != nil {
		return s.by
	}
	return []string{"ttft_p99", "ttft_mean"}
}

func (s study) key() string { return s.figures()[0] }

func (s study) drawn() []string {
	if s.plots != nil {
		return s.plots
	}
	if s.sweep != "" {
		return []string{"sweep-" + s.key()}
	}
	return []string{"ttft_p99", "quantiles"}
}

// command repeats the study.
func (s study) command() string {
	parts := []string{"pointsman simulate " + scenarios + "/" + s.scenario() + ".hcl"}
	for _, v := range s.vars {
		parts = append(parts, "-var "+v)
	}
	if s.sweep != "" {
		parts = append(parts, "-sweep "+s.sweep)
	}
	if s.seeds > 0 {
		parts = append(parts, fmt.Sprintf("-seeds %d", s.seeds))
	}
	if len(s.take) > 0 && !slices.ContainsFunc(s.take, func(p string) bool { return strings.ContainsAny(p, "!*?[") }) {
		parts = append(parts, "-policy "+strings.Join(s.take, ","))
	}
	return strings.Join(parts, " ")
}

// along are half as long runs of steady-06 with some of the policies.
func along(what, sweep string) study {
	s := study{name: "along-" + what, file: "steady-06", title: "Along " + what, vars: []string{"minute=30"}, sweep: sweep, seeds: 5, take: few}
	if what != "load" {
		s.vars = append(s.vars, "load=0.8")
	}
	return s
}

var (
	timed = []string{"ttft_p99", "over-time"}
	few   = []string{"predictive", "p2c", "rival_least_loaded", "wrr", "prequal", "jsq2", "clairvoyant"}
)

// studies are in the order of the page. Those along a variable come last.
var studies = []study{
	{name: "steady-06"},
	{name: "steady-09"},
	{name: "homogeneous"},
	{name: "one-in-ten-slow", plots: timed},
	{name: "fast-failure", take: []string{"!*_bare"}, by: []string{"errors", "ttft_mean"}, plots: timed, also: []column{{"failed there", "fault_failures"}}},
	{name: "fast-failure-bare", file: "fast-failure", title: "The same without breakers and second attempts", take: []string{"*_bare"}, by: []string{"errors", "ttft_mean"}, suffix: "_bare"},
	{name: "black-out", plots: timed, also: []column{{"failed there", "fault_failures"}, {"returned", "returned"}}},
	{name: "cold-join", plots: timed, also: []column{{"share of one that joined", "endpoint.gpu-fast-000.share"}}},
	{name: "control-plane-lost", plots: timed},
	{name: "stale", title: "Old news, of 20 seconds"},
	{name: "stale-60", file: "stale", title: "Old news, of a minute", vars: []string{"push=60s"}},
	{name: "prefix-reuse", first: "score_125", plots: []string{"hits"}, also: []column{{"of possible hits", "hit_part"}}},
	{name: "conversations", first: "score_125", plots: []string{"hits"}, also: []column{{"of possible hits", "hit_part"}}},
	{name: "two-tenants"},
	{name: "hot-tenant", by: []string{"tenant.people.ttft_p99", "tenant.people.ttft_mean"}, plots: []string{"over-time", "fairness"},
		also: []column{{"people: p99", "tenant.people.ttft_p99"}, {"people: shed", "tenant.people.sheds"}, {"jobs: shed", "tenant.bulk.sheds"}}},
	{name: "minute-429", by: []string{"retry_rate", "ttft_p99"}, plots: []string{"over-time", "quantiles"}},
	{name: "small", by: []string{"ttft_mean", "ttft_p99"}, plots: timed},
	{name: "shares", by: []string{"ttft_mean", "ttft_p99"}, plots: []string{"ttft_p99"}, also: []column{{"share of 90", "endpoint.gpu-a.share"}, {"share of 10", "endpoint.gpu-b.share"}}},
	{name: "wrong-artifact", by: []string{"errors", "ttft_mean"}, plots: timed, also: []column{{"invalid", "invalid"}, {"delivered", "wrong"}}},
	{name: "unary", by: []string{"total_p99", "total_mean"}},
	{name: "reasoning", by: []string{"total_p99", "ttft_p99"}},
	{name: "cost", first: "bands", by: []string{"cost_per_1000", "ttft_mean"}, plots: []string{"cost", "quantiles"}, also: []column{{"valid", "validity"}, {"refused", "invalid"}}},
	along("load", "load=0.5,0.6,0.7,0.8,0.9,1,1.1"),
	along("clients", "clients=1,10,50,200,400"),
	along("servers", "endpoints=8,40,120,400"),
	along("push", "push=200ms,1s,5s,20s,60s"),
	along("bursts", "cv=1,1.5,2.5,4"),
}
