package wire

import (
	"fmt"
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
			w = workload(d.workloads[r.key.Name])
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
	"round_robin": route.RoundRobin, "hash": route.Hash,
}

// What this library can do beside.
var (
	affinities = map[string]route.AffinityOn{
		"prefix": route.AffinityPrefix, "session": route.AffinitySession, "tenant": route.AffinityTenant,
	}
	escalations = []string{"quality", "context"}
)

const median = "median" // the rule of affinity that is known

// unusable says why this library cannot route a workload; empty: it can.
func unusable(w *pb.Workload) string {
	strategy, a := w.GetBalance().GetStrategy(), w.GetAffinity()
	switch {
	case strategies[strategy] == route.NoStrategy:
		return fmt.Sprintf("strategy %q is not known", strategy)
	case a != nil && affinities[a.On] == route.AffinityNone:
		return fmt.Sprintf("affinity on %q is not known", a.On)
	case a != nil && a.Rule != median:
		return fmt.Sprintf("affinity by rule %q is not known", a.Rule)
	case len(w.NeedsFeatures) > 0: // none exists yet
		return "it needs " + strings.Join(w.NeedsFeatures, ", ")
	}
	for _, on := range w.EscalateOn {
		if !slices.Contains(escalations, on) {
			return fmt.Sprintf("escalate_on %q is not known", on)
		}
	}
	return ""
}

func workload(w *pb.Workload) route.Workload {
	if why := unusable(w); why != "" {
		return route.Workload{Name: w.Name, Unusable: why}
	}
	out := route.Workload{
		Name: w.Name, APIs: w.Apis, Contract: contract(w.Contract),
		Strategy: strategies[w.Balance.Strategy], MoneyPerMS: money.Nano(w.Balance.MoneyPerMs), Attempts: attempts(w.Attempts),
		Affinity: route.Affinity{On: affinities[w.Affinity.GetOn()], Slack: w.Affinity.GetSlack()},
		Whole:    w.Deliver == pb.Deliver_DELIVER_WHOLE, FilterElsewhere: w.OnFilter == pb.OnFilter_ON_FILTER_ANOTHER,
		EscalateQuality: slices.Contains(w.EscalateOn, "quality"), EscalateContext: slices.Contains(w.EscalateOn, "context"),
	}
	for _, t := range w.Tiers {
		out.Tiers = append(out.Tiers, route.Tier{Name: t.GetName(), Endpoints: t.GetEndpoints()})
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
