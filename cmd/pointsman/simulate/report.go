package simulate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/rival"
)

// Report is what came out of a plan.
type Report struct {
	File, Title, Text string // of the scenario
	Sweep             string // the variable that the points differ in; empty: there is one point
	Seeds             []uint64
	Points            []Outcome
}

// Outcome is what came out at one point.
type Outcome struct {
	Variables map[string]string
	Policies  []string // in the order of the scenario
	Results   []*measure.Result
	Verdicts  []Verdict
}

// Verdict is what became of an assertion.
type Verdict struct {
	Text, Found string
	Held        bool
}

// Fill puts the results of a plan to its points, and judges each by the assertions.
func (r *Report) Fill(p Plan, results []*measure.Result, assertions []measure.Assertion) {
	r.Seeds = p.Seeds
	for _, point := range p.Points {
		o := Outcome{Variables: point.Variables}
		for _, policy := range point.Policies {
			o.Policies = append(o.Policies, policy.Name)
		}
		n := len(point.Policies) * len(p.Seeds)
		o.Results, results = results[:n:n], results[n:]
		for _, a := range assertions {
			ok, found := a.Check(o.Results)
			o.Verdicts = append(o.Verdicts, Verdict{Text: a.String(), Found: found, Held: ok})
		}
		r.Points = append(r.Points, o)
	}
}

// Broken counts the assertions that do not hold, of all.
func (r *Report) Broken() (broken, all int) {
	for _, o := range r.Points {
		for _, v := range o.Verdicts {
			all++
			if !v.Held {
				broken++
			}
		}
	}
	return broken, all
}

// Of are a policy's results, one of each seed.
func (o *Outcome) Of(policy string) (results []*measure.Result) {
	for _, r := range o.Results {
		if r.Policy == policy {
			results = append(results, r)
		}
	}
	return results
}

// values are those of a metric of a policy, one of each seed; none if there is no such metric.
func (o *Outcome) values(policy, metric string) (all []float64) {
	m, err := measure.Find(metric)
	if err != nil {
		return nil
	}
	for _, r := range o.Of(policy) {
		v, _ := m.Of(r, measure.Part{})
		all = append(all, v)
	}
	return all
}

// mean is that of a metric, with half of its interval.
func (o *Outcome) mean(policy, metric string) (mean, half float64) {
	return measure.Mean(o.values(policy, metric))
}

// ratio is how many times another policy's a metric of this is, on common seeds.
func (o *Outcome) ratio(policy, to, metric string) (ratio, low, high float64) {
	return measure.Paired(o.values(policy, metric), o.values(to, metric))
}

const weighted = "wrr" // weighted round robin, with true weights

// best is the oracle that is best by a metric, the lowest of it.
func (o *Outcome) best(metric string) (policy string, ok bool) {
	var least float64
	for _, p := range o.Policies {
		if !oracle(p) {
			continue
		}
		if v, _ := o.mean(p, metric); !math.IsNaN(v) && (!ok || v < least) {
			policy, least, ok = p, v, true
		}
	}
	return policy, ok
}

// oracle tells by its name whether a policy knows what nobody can: a rival that does, or one
// called after it.
func oracle(policy string) bool {
	return slices.ContainsFunc(rival.Oracles(), func(name string) bool {
		return policy == name || strings.HasPrefix(policy, name+"_")
	})
}

func (o *Outcome) has(policy string) bool { return slices.Contains(o.Policies, policy) }

// any tells whether a metric is above nothing for somebody.
func (o *Outcome) any(metric string) bool {
	return slices.ContainsFunc(o.Policies, func(p string) bool { v, _ := o.mean(p, metric); return v > 0 })
}

// tenants tells whether there are several to be fair to.
func (o *Outcome) tenants() bool {
	return slices.ContainsFunc(o.Results, func(r *measure.Result) bool { return len(r.By.Tenants) > 1 })
}

// label says what distinguishes a point.
func (r *Report) label(o *Outcome) string {
	if r.Sweep == "" {
		return ""
	}
	var parts []string
	for name := range strings.SplitSeq(r.Sweep, ",") {
		parts = append(parts, fmt.Sprintf("%s = %s", name, o.Variables[name]))
	}
	return strings.Join(parts, ", ")
}
