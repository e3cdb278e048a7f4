package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/cmd/pointsman/simulate"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// Columns that every study has, and those that are left out where nobody has any of it.
var (
	times   = []column{{"TTFT mean", "ttft_mean"}, {"TTFT p99", "ttft_p99"}, {"total p99", "total_p99"}, {"goodput", "goodput"}, {"errors", "errors"}}
	seldom  = []column{{"shed", "sheds"}, {"late", "lates"}, {"retries", "retry_rate"}, {"cost of 1,000", "cost_per_1000"}, {"hits", "hit_rate"}, {"violations", "violations"}}
	tenants = []column{{"fairness", "fairness"}, {"worst slowdown", "worst_slowdown"}}
)

// table has a row for each policy, the best by the study's figure first.
func (p *played) table(o *simulate.Outcome) (string, error) {
	shown := p.columns(o)
	head := []string{"policy"}
	for _, c := range shown {
		head = append(head, c.head)
	}
	ratios := p.ratios(o)
	for _, r := range ratios {
		head = append(head, r.head)
	}
	out := []string{line(head), line(append([]string{"---"}, slices.Repeat([]string{"--:"}, len(head)-1)...))}
	order, err := p.order(o)
	if err != nil {
		return "", err
	}
	for _, policy := range order {
		cells := []string{p.called(policy)}
		for _, c := range shown {
			e, err := estimate(o, policy+"."+c.figure)
			if err != nil {
				return "", err
			}
			cells = append(cells, e.Text)
		}
		for _, r := range ratios {
			e, err := estimate(o, policy+"."+r.metric+" / "+r.to+"."+r.metric)
			if err != nil {
				return "", err
			}
			cells = append(cells, e.Text)
		}
		out = append(out, line(cells))
	}
	return strings.Join(out, "\n") + "\n", nil
}

func line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// called is a policy's name: ours bold, oracles in italics.
func (p *played) called(policy string) string {
	switch p.kinds[policy] {
	case own:
		return "**" + policy + "**"
	case oracle:
		return "*" + policy + "*"
	}
	return policy
}

// columns are those in which somebody has something.
func (p *played) columns(o *simulate.Outcome) []column {
	all := slices.Concat(times, p.also)
	some := seldom
	if slices.ContainsFunc(o.Results, func(r *measure.Result) bool { return len(r.By.Tenants) > 1 }) {
		all = append(all, tenants...)
	}
	for _, c := range some {
		if slices.ContainsFunc(o.Policies, func(policy string) bool {
			e, err := estimate(o, policy+"."+c.figure)
			return err == nil && e.Value != 0
		}) {
			all = append(all, c)
		}
	}
	return all
}

// against is a column of ratios to another policy.
type against struct{ head, metric, to string }

// ratios are to the best oracle of each metric and to weighted round robin with true weights.
func (p *played) ratios(o *simulate.Outcome) (all []against) {
	for _, c := range times[:3] {
		if best, err := p.best(o, oracle, c.figure); err == nil {
			all = append(all, against{c.head + " ÷ best", c.figure, best})
		}
	}
	if wrr := "wrr" + p.suffix; slices.Contains(o.Policies, wrr) {
		all = append(all, against{"TTFT p99 ÷ wrr", "ttft_p99", wrr})
	}
	return all
}

// order has the policies by the study's figure, the best first.
func (p *played) order(o *simulate.Outcome) ([]string, error) {
	figures := map[string]float64{}
	for _, policy := range o.Policies {
		for _, metric := range p.figures() {
			e, err := estimate(o, policy+"."+metric)
			if err != nil {
				return nil, err
			}
			figures[policy+"."+metric] = e.Value * better(metric)
		}
	}
	order := slices.Clone(o.Policies)
	slices.SortStableFunc(order, func(a, b string) int {
		for _, metric := range p.figures() {
			if c := cmp.Compare(figures[a+"."+metric], figures[b+"."+metric]); c != 0 {
				return c
			}
		}
		return 0
	})
	return order, nil
}

// along has a row for each policy and a column for each point of the sweep.
func (p *played) along() (string, error) {
	name, _, _ := strings.Cut(p.sweep, "=")
	head := []string{p.key() + " at " + name}
	for i := range p.report.Points {
		head = append(head, strings.Trim(p.report.Points[i].Variables[name], `"`))
	}
	out := []string{line(head), line(append([]string{"---"}, slices.Repeat([]string{"--:"}, len(head)-1)...))}
	for _, policy := range p.report.Points[0].Policies {
		cells := []string{p.called(policy)}
		for i := range p.report.Points {
			e, err := estimate(&p.report.Points[i], policy+"."+p.key())
			if err != nil {
				return "", err
			}
			cells = append(cells, e.Text)
		}
		out = append(out, line(cells))
	}
	return strings.Join(out, "\n") + "\n", nil
}

// sentence says whom the judged policy beats, ties with and loses to.
func (p *played) sentence(o *simulate.Outcome, metric string) (string, error) {
	judged := p.judged()
	if !slices.Contains(o.Policies, judged) {
		return "", nil
	}
	var by [len(verdictWords)][]string
	for _, policy := range o.Policies {
		if policy == judged || p.kinds[policy] == oracle {
			continue
		}
		v, err := versus(o, judged, policy, metric)
		if err != nil {
			return "", err
		}
		e, err := estimate(o, judged+"."+metric+" / "+policy+"."+metric)
		if err != nil {
			return "", err
		}
		text := policy
		if !math.IsNaN(e.Value) && !math.IsInf(e.Value, 0) {
			text += " (" + measure.Plain.Text(e.Value) + ")"
		}
		by[v] = append(by[v], text)
	}
	var parts []string
	for _, v := range []verdict{wins, ties, loses} {
		if len(by[v]) > 0 {
			parts = append(parts, v.String()+" "+strings.Join(by[v], ", "))
		}
	}
	return fmt.Sprintf("By `%s`, **%s** %s.", metric, judged, strings.Join(parts, "; ")), nil
}

// limits are what the means are to be seen next to.
func (p *played) limits(o *simulate.Outcome) (string, error) {
	var parts []string
	for _, c := range times[:3] {
		best, err := p.best(o, oracle, c.figure)
		if err != nil {
			continue
		}
		e, err := estimate(o, best+"."+c.figure)
		if err != nil {
			return "", err
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", c.head, e.Text, best))
	}
	text := ""
	if len(parts) > 0 {
		text = "Best with perfect knowledge: " + strings.Join(parts, ", ") + ". "
	}
	for _, l := range []struct{ metric, words string }{{"zero_ttft", "Bounds of the mean TTFT: %s with nobody else there"}, {"pooled_ttft", "; %s of one pooled server that takes the shortest first"}} {
		if e, err := estimate(o, o.Policies[0]+"."+l.metric); err == nil && e.Value > 0 {
			text += fmt.Sprintf(l.words, measure.Time.Text(e.Value))
		}
	}
	calls, err := estimate(o, o.Policies[0]+".calls")
	text = strings.TrimSuffix(strings.TrimSpace(text), ".") + ". "
	return strings.TrimPrefix(text, ". ") + fmt.Sprintf("About %.0f calls a run.", calls.Value), err
}
