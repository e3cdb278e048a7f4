package wire

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func (d *decoded) workloadsInto(c *route.Catalog) []*pb.Unusable {
	var unusable []*pb.Unusable
	for _, r := range d.state.kind(pb.Kind_KIND_WORKLOAD) {
		w := route.Workload{Name: r.key.Name, Unusable: d.wrong(r.key)}
		if w.Unusable == "" {
			w = d.workload(d.workloads[r.key.Name])
		}
		if w.Unusable != "" {
			unusable = append(unusable, &pb.Unusable{Workload: w.Name, Reason: w.Unusable})
		}
		c.Workloads = append(c.Workloads, w)
	}
	return unusable
}

// strategies are what this library can do.
var strategies = map[string]route.Strategy{
	"p2c": route.P2C, "least_loaded": route.LeastLoaded, "weighted": route.Weighted,
	"least_tokens": route.LeastTokens, "weighted_least_latency": route.WeightedLeastLatency,
	"latency_weighted": route.LatencyWeighted, "quota_aware": route.QuotaAware,
	"round_robin": route.RoundRobin, "hash": route.Hash, "predictive": route.Predictive, "cost_tiered": route.CostTiered,
}

// What this library can do beside.
var (
	affinities = map[string]route.AffinityOn{
		"prefix": route.AffinityPrefix, "session": route.AffinitySession, "tenant": route.AffinityTenant,
	}
	rules       = map[string]route.AffinityRule{"median": route.AffinityMedian, "score": route.AffinityScore}
	escalations = []string{"quality", "context"}
)

// unusable says why this library cannot route a workload; empty: it can.
func (d *decoded) unusable(w *pb.Workload) string {
	strategy, a := w.GetBalance().GetStrategy(), w.GetAffinity()
	rule, known := rules[a.GetRule()]
	switch {
	case strategies[strategy] == route.NoStrategy:
		return fmt.Sprintf("strategy %q is not known", strategy)
	case a != nil && affinities[a.On] == route.AffinityNone:
		return fmt.Sprintf("affinity on %q is not known", a.On)
	case a != nil && !known:
		return fmt.Sprintf("affinity by rule %q is not known", a.Rule)
	case a != nil && !rule.With(strategies[strategy]):
		return fmt.Sprintf("affinity by rule %q needs a strategy with scores, and %s has none", a.Rule, strategy)
	case len(w.NeedsFeatures) > 0: // none exists yet
		return "it needs " + strings.Join(w.NeedsFeatures, ", ")
	}
	for _, on := range w.EscalateOn {
		if !slices.Contains(escalations, on) {
			return fmt.Sprintf("escalate_on %q is not known", on)
		}
	}
	if strategies[strategy] == route.CostTiered {
		return d.unbanded(w)
	}
	return ""
}

// unbanded says what is wrong with the bands of a workload; empty: nothing.
func (d *decoded) unbanded(w *pb.Workload) string {
	var models []string
	upto := int64(0)
	if len(w.Balance.Bands) == 0 {
		return "cost_tiered without bands"
	}
	for _, b := range w.Balance.Bands {
		reach := int64(math.MaxInt64)
		if b.UptoTokens != nil {
			reach = b.GetUptoTokens()
		}
		if reach < max(upto, 1) {
			return fmt.Sprintf("band %q reaches less far than the one before", b.GetName())
		}
		upto, models = reach, append(models, b.GetModels()...)
	}
	for ref := range pools(w) {
		if model := d.endpoints[ref.Name].GetModel(); !slices.Contains(models, model) {
			return fmt.Sprintf("no band has model %q of endpoint %q", model, ref.Name)
		}
	}
	return ""
}

func (d *decoded) workload(w *pb.Workload) route.Workload {
	if why := d.unusable(w); why != "" {
		return route.Workload{Name: w.Name, Unusable: why}
	}
	out := route.Workload{
		Name: w.Name, APIs: w.Apis, Contract: contract(w.Contract),
		Strategy: strategies[w.Balance.Strategy], MoneyPerMS: money.Nano(w.Balance.MoneyPerMs), Attempts: attempts(w.Attempts),
		PreferQuality: w.Balance.PreferQuality,
		Affinity:      route.Affinity{On: affinities[w.Affinity.GetOn()], Rule: rules[w.Affinity.GetRule()], Slack: w.Affinity.GetSlack()},
		Whole:         w.Deliver == pb.Deliver_DELIVER_WHOLE, FilterElsewhere: w.OnFilter == pb.OnFilter_ON_FILTER_ANOTHER,
		EscalateQuality: slices.Contains(w.EscalateOn, "quality"), EscalateContext: slices.Contains(w.EscalateOn, "context"),
	}
	for _, t := range w.Tiers {
		out.Tiers = append(out.Tiers, route.Tier{Name: t.GetName(), Endpoints: t.GetEndpoints()})
	}
	for _, b := range w.Balance.Bands {
		out.Bands = append(out.Bands, route.Band{Name: b.GetName(), UptoTokens: given(b.UptoTokens), Models: b.GetModels()})
	}
	return out
}

func contract(c *pb.Contract) route.Contract {
	return route.Contract{
		Requires: c.GetRequires(), NeedsContext: c.GetNeedsContext(), NeedsOutputTokens: c.GetNeedsOutputTokens(),
		MaxTTFT: c.GetMaxTtftUs(), Regions: c.GetRegions(), Compliance: c.GetCompliance(),
	}
}

func attempts(a *pb.AttemptsPolicy) route.Attempts {
	return route.Attempts{
		Max: a.GetMax(), RetryRatio: a.GetRetryRatio(), RetryReserve: a.GetRetryReserve(), SameEndpoint: a.GetSameEndpoint(),
		Connect: a.GetConnectUs(), FirstToken: a.GetFirstTokenUs(), Answer: a.GetAnswerUs(), Stall: a.GetStallUs(), Total: a.GetTotalUs(),
	}
}
