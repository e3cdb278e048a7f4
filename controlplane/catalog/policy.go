package catalog

import (
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// patch is what a block says of a message, and nothing of what it does not say. Patches applied
// one after the other make the later ones win per attribute. Nil: there was no such block.
type patch[M any] []func(*M)

func (p patch[M]) apply(m *M) {
	for _, set := range p {
		set(m)
	}
}

// attribute reads one attribute of a block for a patch; nil: the block does not say.
type attribute[M any] func(*block) func(*M)

func field[M, V any](at func(*M) *V, read func(*block, *V) bool) attribute[M] {
	return func(b *block) func(*M) {
		var v V
		if !read(b, &v) {
			return nil
		}
		return func(m *M) { *at(m) = v }
	}
}

func whole(name string, lo, hi int64) func(*block, *int64) bool {
	return func(b *block, dst *int64) bool { return b.whole(name, lo, hi, dst) }
}

func ratio(name string, lo, hi float64) func(*block, *float64) bool {
	return func(b *block, dst *float64) bool { return b.ratio(name, lo, hi, dst) }
}

func duration(name string, lo, hi time.Duration) func(*block, *int64) bool {
	return func(b *block, dst *int64) bool { return b.duration(name, lo, hi, dst) }
}

func choice(name string, words ...string) func(*block, *string) bool {
	return func(b *block, dst *string) bool { return b.choice(name, words, dst) }
}

var breakerAttributes = []attribute[pb.BreakerPolicy]{
	field(func(p *pb.BreakerPolicy) *int64 { return &p.WindowUs }, duration("window", 100*time.Millisecond, time.Hour)),
	field(func(p *pb.BreakerPolicy) *int64 { return &p.SlowWindowUs }, duration("slow_window", time.Second, 24*time.Hour)),
	field(func(p *pb.BreakerPolicy) *int64 { return &p.MinSamples }, whole("min_samples", 1, 1_000_000)),
	field(func(p *pb.BreakerPolicy) *int64 { return &p.Consecutive }, whole("consecutive", 0, 1_000_000)),
	field(func(p *pb.BreakerPolicy) *float64 { return &p.FailureRatio }, ratio("failure_ratio", 0, 1)),
	field(func(p *pb.BreakerPolicy) *int64 { return &p.TtftLimitUs }, duration("ttft_limit", 0, time.Hour)),
	field(func(p *pb.BreakerPolicy) *int64 { return &p.CooldownUs }, duration("cooldown", 100*time.Millisecond, 24*time.Hour)),
	field(func(p *pb.BreakerPolicy) *int64 { return &p.CooldownMaxUs }, duration("cooldown_max", 100*time.Millisecond, 24*time.Hour)),
	field(func(p *pb.BreakerPolicy) *int64 { return &p.Probes }, whole("probes", 1, 1000)),
	field(func(p *pb.BreakerPolicy) *int64 { return &p.RampUs }, duration("ramp", 0, 24*time.Hour)),
	field(func(p *pb.BreakerPolicy) *float64 { return &p.MaxEjected }, ratio("max_ejected", 0, 1)),
}

var attemptsAttributes = []attribute[pb.AttemptsPolicy]{
	field(func(p *pb.AttemptsPolicy) *int64 { return &p.Max }, whole("max", 1, 20)),
	field(func(p *pb.AttemptsPolicy) *float64 { return &p.RetryRatio }, ratio("retry_ratio", 0, 10)),
	field(func(p *pb.AttemptsPolicy) *int64 { return &p.RetryReserve }, whole("retry_reserve", 0, 1_000_000)),
	field(func(p *pb.AttemptsPolicy) *int64 { return &p.SameEndpoint }, whole("same_endpoint", 0, 20)),
	field(func(p *pb.AttemptsPolicy) *int64 { return &p.ConnectUs }, duration("connect", time.Millisecond, time.Hour)),
	field(func(p *pb.AttemptsPolicy) *int64 { return &p.FirstTokenUs }, duration("first_token", time.Millisecond, 24*time.Hour)),
	field(func(p *pb.AttemptsPolicy) *int64 { return &p.AnswerUs }, duration("answer", time.Millisecond, 24*time.Hour)),
	field(func(p *pb.AttemptsPolicy) *int64 { return &p.StallUs }, duration("stall", time.Millisecond, 24*time.Hour)),
	field(func(p *pb.AttemptsPolicy) *int64 { return &p.TotalUs }, duration("total", time.Millisecond, 24*time.Hour)),
}

var guardAttributes = []attribute[pb.Guard]{
	field(func(g *pb.Guard) *float64 { return &g.SuccessDrop }, ratio("success_drop", 0, 1)),
	field(func(g *pb.Guard) *float64 { return &g.ShedRise }, ratio("shed_rise", 0, 1)),
	field(func(g *pb.Guard) *float64 { return &g.TtftP95 }, ratio("ttft_p95", 1, 1000)),
	field(func(g *pb.Guard) *float64 { return &g.Cost }, ratio("cost", 1, 1000)),
	field(func(g *pb.Guard) *int64 { return &g.WindowUs }, duration("window", time.Second, 24*time.Hour)),
	field(func(g *pb.Guard) *int64 { return &g.MinSamples }, whole("min_samples", 1, 1_000_000_000)),
}

var affinityAttributes = []attribute[pb.Affinity]{
	field(func(a *pb.Affinity) *string { return &a.On }, choice("on", "prefix", "session", "tenant")),
	field(func(a *pb.Affinity) *string { return &a.Rule }, choice("rule", "score", "median")),
	field(func(a *pb.Affinity) *float64 { return &a.Slack }, ratio("slack", 1, 100)),
}

var streamAttributes = []attribute[pb.Workload]{
	field(func(w *pb.Workload) *pb.Deliver { return &w.Deliver }, func(b *block, dst *pb.Deliver) bool {
		return oneOf(b, "deliver", delivers, dst)
	}),
}

var delivers = map[string]pb.Deliver{"live": pb.Deliver_DELIVER_LIVE, "whole": pb.Deliver_DELIVER_WHOLE}

// patchOf reads a block by a table; nil for no block.
func patchOf[M any](b *block, table []attribute[M]) patch[M] {
	if b == nil {
		return nil
	}
	p := patch[M]{}
	for _, read := range table {
		if set := read(b); set != nil {
			p = append(p, set)
		}
	}
	b.close()
	return p
}

// policy is what a policy block says, and what a workload's or tool's own blocks say.
type policy struct {
	path     string
	used     bool
	breaker  patch[pb.BreakerPolicy]
	attempts patch[pb.AttemptsPolicy]
	stream   patch[pb.Workload]
	affinity patch[pb.Affinity]
	balance  patch[pb.Balance]
	guard    patch[pb.Guard]
}

func (c *compiler) readPolicy(b *block) {
	p := workloadPolicy(b)
	p.breaker = patchOf(b.one("breaker"), breakerAttributes)
	c.policies[b.name] = p
}

func workloadPolicy(b *block) *policy {
	p := toolPolicy(b)
	p.stream = patchOf(b.one("stream"), streamAttributes)
	p.affinity = patchOf(b.one("affinity"), affinityAttributes)
	p.guard = patchOf(b.one("guard"), guardAttributes)
	return p
}

func toolPolicy(b *block) *policy {
	return &policy{path: b.path, attempts: patchOf(b.one("attempts"), attemptsAttributes), balance: balancePatch(b)}
}

// use gives the policies that a block names, in their order.
func (b *block) use() []*policy {
	refs, _ := b.refs("use", "policy")
	var list []*policy
	for _, r := range refs {
		if p := b.c.policies[r.name]; p != nil {
			p.used = true
			list = append(list, p)
		}
	}
	return list
}

// breakerOf is what policies say of the breaker, later ones over earlier ones; nil: nothing.
func breakerOf(use []*policy) patch[pb.BreakerPolicy] {
	var all patch[pb.BreakerPolicy]
	for _, p := range use {
		if p.breaker != nil {
			all = append(append(patch[pb.BreakerPolicy]{}, all...), p.breaker...)
		}
	}
	return all
}
