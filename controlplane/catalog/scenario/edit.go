package scenario

import (
	"maps"
	"math"
	"path"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/sim/server"
)

// neverSamples is more than any window holds: a breaker that needs so many never opens.
const neverSamples = 1_000_000_000

func (p *policy) breaker() {
	var word string
	if !p.Choice("breaker", []string{"off", "on"}, &word) || word == "on" {
		return
	}
	p.eachEndpoint(func(e *route.Endpoint) {
		b := &e.Breaker
		b.MinSamples, b.Consecutive, b.FailureRatio, b.TTFTLimit = neverSamples, 0, 1, 0
	})
}

const usualWeight = 100 // catalog.md: absent, it is so much × the learned speed

// shares reads what makes the shares: speeds (true ones, of the servers' models), equal, or
// learned (none is configured).
func (p *policy) shares() {
	var word string
	if !p.Choice("shares", []string{"speeds", "equal", "learned"}, &word) {
		return
	}
	p.eachEndpoint(func(e *route.Endpoint) {
		switch word {
		case "learned":
			e.Weight = route.Absent
		case "equal":
			e.Weight = usualWeight
		case "speeds":
			e.Weight = int64(math.Round(usualWeight * speed(p.models[e.Name])))
		}
	})
}

func speed(m server.Model) float64 {
	if m.Own == nil || m.Own.Speed == 0 {
		return 1
	}
	return m.Own.Speed
}

// weights reads shares by patterns of endpoints' names; of two that match, the one that comes
// later by name holds.
func (p *policy) weights() {
	given := p.Numbers("weights", 0, 1e9)
	for _, pattern := range slices.Sorted(maps.Keys(given)) {
		if matched, ok := p.matching(pattern); !ok || len(matched) == 0 {
			p.Wrong("weights", p.nothing(pattern), "has %s, which matches no endpoint's name", catalog.Quote(pattern))
		}
		weight := int64(math.Round(given[pattern]))
		p.eachEndpoint(func(e *route.Endpoint) {
			if ok, _ := path.Match(pattern, e.Name); ok {
				e.Weight = weight
			}
		})
	}
}

func (p *policy) attempts() {
	var most int64
	if p.Whole("attempts", 1, 20, &most) {
		p.eachWorkload(func(w *route.Workload) { w.Attempts.Max = most })
	}
}

func (p *policy) money() {
	var nano int64
	if p.USD("money_per_ms", &nano) {
		p.eachWorkload(func(w *route.Workload) { w.MoneyPerMS = money.Nano(nano) })
	}
}

var (
	affinities = map[string]route.AffinityOn{"off": route.AffinityNone, "prefix": route.AffinityPrefix, "session": route.AffinitySession, "tenant": route.AffinityTenant}
	rules      = map[string]route.AffinityRule{"median": route.AffinityMedian, "score": route.AffinityScore}
	slacks     = map[string]float64{"median": 2.5, "score": 1.25} // catalog.md
)

func (p *policy) affinity() {
	in := p.One("affinity")
	if in == nil {
		return
	}
	on, rule := "prefix", "score"
	in.Choice("on", slices.Sorted(maps.Keys(affinities)), &on)
	in.Choice("rule", slices.Sorted(maps.Keys(rules)), &rule)
	slack := slacks[rule]
	in.Number("slack", 1, 1000, &slack)
	in.Close()
	a := route.Affinity{On: affinities[on], Rule: rules[rule], Slack: slack}
	if a.On == route.AffinityNone {
		a = route.Affinity{}
	}
	p.eachWorkload(func(w *route.Workload) { w.Affinity = a })
}

// bands reads those of cost_tiered, in place of the catalog's.
func (p *policy) bands() {
	known := p.modelNames()
	var list []route.Band
	for _, in := range p.All("band", 1) {
		band := route.Band{Name: in.Name(), UptoTokens: route.Absent}
		in.Need("models")
		in.Whole("upto_tokens", 1, maxTokens, &band.UptoTokens)
		for _, m := range in.Listed("models") {
			if !slices.Contains(known, m.Text) {
				in.FailAt(m, catalog.Meant(m.Text, known), "no endpoint has model %s", catalog.Quote(m.Text))
			}
			band.Models = append(band.Models, m.Text)
		}
		in.Close()
		list = append(list, band)
	}
	if list != nil {
		p.eachWorkload(func(w *route.Workload) { w.Bands = list })
	}
	var prefer bool
	if p.Flag("prefer_quality", &prefer) {
		p.eachWorkload(func(w *route.Workload) { w.PreferQuality = prefer })
	}
}

func (r *reader) modelNames() []string {
	all := names(r.catalog.Endpoints, func(e *route.Endpoint) string { return e.Model })
	slices.Sort(all)
	return slices.Compact(all)
}
