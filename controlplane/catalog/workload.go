package catalog

import (
	"fmt"
	"slices"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// strategies are those of the language (decision-core.md, choosing); what a library can run is its affair.
var strategies = []string{
	"p2c", "least_loaded", "least_tokens", "weighted_least_latency", "predictive", "weighted", "latency_weighted",
	"quota_aware", "round_robin", "hash", "cost_tiered",
}

var onFilters = map[string]pb.OnFilter{"return": pb.OnFilter_ON_FILTER_RETURN, "another": pb.OnFilter_ON_FILTER_ANOTHER}

func (c *compiler) readWorkload(b *block) {
	w := &pb.Workload{Name: b.name, Deliver: defaultDeliver, OnFilter: defaultOnFilter}
	b.need("apis")
	b.texts("apis", &w.Apis)
	w.Contract = readContract(b.one("contract"))
	w.Tiers = readTiers(b)
	layers := append(b.use(), workloadPolicy(b))
	w.Attempts, w.Balance, w.Guard = attemptsOf(layers), balanceOf(layers), defaultGuard()
	for _, p := range layers {
		p.stream.apply(w)
		p.guard.apply(w.Guard)
	}
	w.Affinity = affinityOf(layers, w.Balance.Strategy)
	oneOf(b, "on_filter", onFilters, &w.OnFilter)
	b.words("escalate_on", []string{"quality", "context"}, &w.EscalateOn)
	c.catalog.workloads[b.name] = w
}

func attemptsOf(layers []*policy) *pb.AttemptsPolicy {
	a := defaultAttempts()
	for _, p := range layers {
		p.attempts.apply(a)
	}
	return a
}

func balanceOf(layers []*policy) *pb.Balance {
	balance := &pb.Balance{Strategy: defaultStrategy}
	for _, p := range layers {
		p.balance.apply(balance)
	}
	return balance
}

// affinityOf is absent unless a layer has it. The default rule is one that goes with the strategy.
func affinityOf(layers []*policy, strategy string) *pb.Affinity {
	a, has := defaultAffinity(), false
	for _, p := range layers {
		p.affinity.apply(a)
		has = has || p.affinity != nil
	}
	if !has {
		return nil
	}
	if a.Rule == "" {
		a.Rule = defaultRule(strategy)
	}
	if a.Slack == 0 {
		a.Slack = defaultSlack(a.Rule)
	}
	return a
}

// balancePatch reads balance "strategy" { … }; without a label it leaves the strategy as it is.
func balancePatch(b *block) patch[pb.Balance] {
	labels := 0
	for _, in := range b.body.Blocks {
		if in.Type == "balance" && len(in.Labels) > 0 {
			labels = 1
		}
	}
	list := b.all("balance", labels)
	if len(list) == 0 {
		return nil
	}
	if len(list) > 1 {
		b.c.twice(list[1].path, list[1].body.SrcRange, "balance is there twice")
	}
	in := list[0]
	if labels == 1 && !slices.Contains(strategies, in.name) {
		b.c.fail(in.path, meant(in.name, strategies), "there is no strategy %s", quote(in.name))
	}
	p := patchOf(in, []attribute[pb.Balance]{
		field(func(m *pb.Balance) *int64 { return &m.MoneyPerMs }, func(b *block, dst *int64) bool { return b.usd("money_per_ms", dst) }),
		field(func(m *pb.Balance) *bool { return &m.PreferQuality }, func(b *block, dst *bool) bool { return b.flag("prefer_quality", dst) }),
		field(func(m *pb.Balance) *[]*pb.Band { return &m.Bands }, readBands),
	})
	if labels == 1 {
		p = append(p, func(m *pb.Balance) { m.Strategy = in.name })
	}
	return p
}

func readBands(b *block, dst *[]*pb.Band) bool {
	for _, in := range b.all("band", 1) {
		band := &pb.Band{Name: in.name}
		in.need("models")
		in.limit("upto_tokens", &band.UptoTokens)
		in.names("models", "model", &band.Models)
		in.close()
		*dst = append(*dst, band)
	}
	return len(*dst) > 0
}

func readContract(b *block) *pb.Contract {
	c := &pb.Contract{}
	if b == nil {
		return c
	}
	b.texts("requires", &c.Requires)
	b.whole("needs_context", 0, maxCount, &c.NeedsContext)
	b.whole("needs_output_tokens", 0, maxCount, &c.NeedsOutputTokens)
	b.duration("max_ttft", time.Millisecond, time.Hour, &c.MaxTtftUs)
	b.texts("regions", &c.Regions)
	b.texts("compliance", &c.Compliance)
	for i, in := range b.all("equivalent", 0) {
		in.path = fmt.Sprintf("%s.%d", in.path, i+1)
		b.c.places[in.path] = in.body.SrcRange
		c.Equivalents = append(c.Equivalents, readEquivalent(in))
	}
	b.close()
	return c
}

func readEquivalent(b *block) *pb.Equivalent {
	e := &pb.Equivalent{}
	b.need("models", "evidence")
	b.names("models", "model", &e.Models)
	b.texts("behaviour", &e.Behaviour)
	b.text("evidence", &e.Evidence)
	b.date("expires", &e.Expires)
	b.close()
	return e
}

// readTiers reads the tiers in their order. An endpoint that a pattern gave, and that an earlier
// tier has, is there already.
func readTiers(b *block) []*pb.Tier {
	var tiers []*pb.Tier
	in := map[string]string{}
	for _, t := range b.all("tier", 1) {
		tiers = append(tiers, readTier(t, in))
	}
	if len(tiers) == 0 {
		b.c.fail(b.path, `add tier "primary" { endpoints = […] }`, "%s without tier", b.kind)
	}
	return tiers
}

func readTier(b *block, in map[string]string) *pb.Tier {
	t := &pb.Tier{Name: b.name}
	if !nameShape.MatchString(b.name) {
		b.c.fail(b.path, nameRule, "%s is not a name for a tier", quote(b.name))
	}
	b.need("endpoints")
	refs, _ := b.refs("endpoints", "endpoint")
	for _, r := range refs {
		path := b.path + ".endpoints." + r.name
		if other, taken := in[r.name]; taken {
			if !r.wildcard {
				b.c.fail(path, "an endpoint is in one tier only", "endpoint %s is in tier %s already", quote(r.name), quote(other))
			}
			continue
		}
		in[r.name] = b.name
		b.c.wildcards[path] = r.wildcard
		t.Endpoints = append(t.Endpoints, r.name)
	}
	slices.Sort(t.Endpoints)
	b.close()
	return t
}

func (c *compiler) readTool(b *block) {
	t := &pb.Tool{Name: b.name}
	b.need("apis")
	b.texts("apis", &t.Apis)
	t.Tiers = readTiers(b)
	layers := append(b.use(), toolPolicy(b))
	t.Attempts, t.Balance = attemptsOf(layers), balanceOf(layers)
	b.duration("freshness", 0, 365*24*time.Hour, &t.FreshnessUs)
	b.flag("effects", &t.Effects)
	b.text("idempotency", &t.Idempotency)
	c.catalog.tools[b.name] = t
}
