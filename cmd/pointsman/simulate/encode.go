package simulate

import (
	"encoding/json"

	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

type reportJSON struct {
	Scenario string      `json:"scenario"`
	Title    string      `json:"title"`
	Seeds    []uint64    `json:"seeds"`
	Held     bool        `json:"held"` // all assertions
	Points   []pointJSON `json:"points"`
}

type pointJSON struct {
	Variables  map[string]string `json:"variables"`
	Assertions []verdictJSON     `json:"assertions"`
	Policies   []policyJSON      `json:"policies"`
	Runs       []*measure.Result `json:"runs"`
}

type verdictJSON struct {
	Text  string `json:"assertion"`
	Held  bool   `json:"held"`
	Found string `json:"found"`
}

type policyJSON struct {
	Policy  string              `json:"policy"`
	Figures map[string]meanJSON `json:"figures"` // over the seeds; names end with their units
	Ratios  []ratioJSON         `json:"ratios"`
}

type meanJSON struct {
	Mean measure.Number `json:"mean"`
	Half measure.Number `json:"half"` // of the 95 % interval; null with one seed
}

type ratioJSON struct {
	Metric string         `json:"metric"`
	To     string         `json:"to"`
	Ratio  measure.Number `json:"ratio"`
	Low    measure.Number `json:"low"`
	High   measure.Number `json:"high"`
}

var unitSuffix = map[measure.Unit]string{measure.Time: "_us", measure.USD: "_usd", measure.Rate: "_per_s"}

// MarshalJSON writes everything: figures of each policy, then each run. The same results give
// the same bytes.
func (r *Report) MarshalJSON() ([]byte, error) {
	broken, _ := r.Broken()
	out := reportJSON{Scenario: r.File, Title: r.Title, Seeds: r.Seeds, Held: broken == 0, Points: make([]pointJSON, len(r.Points))}
	for i := range r.Points {
		out.Points[i] = r.Points[i].encoded()
	}
	return json.Marshal(out)
}

func (o *Outcome) encoded() pointJSON {
	out := pointJSON{Variables: o.Variables, Assertions: make([]verdictJSON, len(o.Verdicts)), Runs: o.Results}
	if out.Variables == nil {
		out.Variables = map[string]string{}
	}
	for i, v := range o.Verdicts {
		out.Assertions[i] = verdictJSON{v.Text, v.Held, v.Found}
	}
	for _, p := range o.Policies {
		figures := map[string]meanJSON{}
		for _, m := range measure.Metrics() {
			mean, half := o.mean(p, m.Name)
			figures[m.Name+unitSuffix[m.Unit]] = meanJSON{measure.Number(mean), measure.Number(half)}
		}
		out.Policies = append(out.Policies, policyJSON{p, figures, o.ratios(p)})
	}
	return out
}

// ratios are to the best oracle of each metric, and to weighted round robin.
func (o *Outcome) ratios(policy string) []ratioJSON {
	out := []ratioJSON{}
	for _, metric := range []string{"ttft_mean", "ttft_p99", "total_p99"} {
		best, _ := o.best(metric)
		for _, to := range []string{best, weighted} {
			if o.has(to) {
				ratio, low, high := o.ratio(policy, to, metric)
				out = append(out, ratioJSON{metric, to, measure.Number(ratio), measure.Number(low), measure.Number(high)})
			}
		}
	}
	return out
}
