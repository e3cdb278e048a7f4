package simulate

import (
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// Shares are the pictures of how each policy shared its attempts, all seeds together.
func (o *Outcome) Shares() (all []Figure) {
	for _, policy := range o.Policies {
		results := o.Of(policy)
		if len(results) == 0 || len(results[0].Bins) == 0 {
			continue
		}
		p := shares{title: "Shares of the attempts over time under " + policy, duration: results[0].Duration, faults: results[0].Faults}
		for _, e := range results[0].By.Endpoints {
			p.endpoints = append(p.endpoints, e.Name)
		}
		p.parts = partsOf(results)
		if len(p.parts) > 0 && len(p.endpoints) > 0 {
			all = append(all, Figure{Name: "shares-" + policy, Title: policy, SVG: p.svg()})
		}
	}
	return all
}

func partsOf(results []*measure.Result) (parts [][]float64) {
	first := results[0]
	for b := 0; b < len(first.Bins) && first.Bins[b].From < first.Duration; b++ {
		counts, sum := make([]float64, len(first.By.Endpoints)), 0.0
		for _, r := range results {
			for e := range min(len(counts), len(r.Bins[b].Attempts)) {
				counts[e] += float64(r.Bins[b].Attempts[e])
				sum += float64(r.Bins[b].Attempts[e])
			}
		}
		for e := range counts {
			counts[e] /= max(sum, 1)
		}
		parts = append(parts, counts)
	}
	return parts
}

// Breakers are the pictures of what each policy's breakers did, with the first seed.
func (o *Outcome) Breakers() (all []Figure) {
	for _, policy := range o.Policies {
		results := o.Of(policy)
		if len(results) == 0 || len(results[0].Turns) == 0 {
			continue
		}
		r := results[0]
		p := breakers{title: "Breakers under " + policy, turns: r.Turns, faults: r.Faults, duration: r.Duration}
		all = append(all, Figure{Name: "breakers-" + policy, Title: policy, SVG: p.svg(), Note: met(r.Faults)})
	}
	return all
}

// met says how the fleet met the faults.
func met(faults []measure.Fault) string {
	var parts []string
	for _, f := range faults {
		text := fmt.Sprintf("%s: never avoided by all, %d failed attempts", f.Name, f.Failed)
		if f.Avoided >= 0 {
			text = fmt.Sprintf("%s: avoided by all after %s, %d failed attempts until then", f.Name, measure.Time.Text(float64(f.Avoided)), f.Failed)
		}
		if f.Returned >= 0 {
			text += ", half of the share back " + measure.Time.Text(float64(f.Returned)) + " after its end"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
