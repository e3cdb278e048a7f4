package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// pooled is a workload or tool, as far as they are alike.
type pooled struct {
	key      string // for the gates
	path     string
	kind     string
	name     string
	apis     []string
	contract *pb.Contract
	tiers    []*pb.Tier
	balance  *pb.Balance
}

// pools are the workloads and tools, by name.
func (j *judgement) pools() []pooled {
	var list []pooled
	for _, name := range keys(j.set.workloads) {
		w := j.set.workloads[name]
		list = append(list, pooled{name, "workload." + name, "workload", name, w.Apis, w.Contract, w.Tiers, w.Balance})
	}
	for _, name := range keys(j.set.tools) {
		t := j.set.tools[name]
		list = append(list, pooled{toolPool + name, "tool." + name, "tool", name, t.Apis, &pb.Contract{}, t.Tiers, t.Balance})
	}
	return list
}

// pool holds the endpoints of a pool against its contract, and its models against each other.
func (j *judgement) pool(p pooled) {
	passing, refused := j.members(p)
	if len(passing) == 0 && !refused && !j.partial[p.key] {
		j.fail(p.path, "an endpoint must pass every gate of the contract", "%s %s has no endpoint that passes%s", p.kind, quote(p.name), tally(j.excluded[p.key]))
		return
	}
	for _, t := range p.tiers {
		if len(t.Endpoints) == 0 && !j.partial[p.key] {
			j.fail(p.path+".tier."+t.Name, "take the tier out, or widen its pattern", "tier %s has no endpoint that passes", quote(t.Name))
		}
	}
	if p.kind == "workload" {
		j.equivalence(p, passing)
	}
	j.balance(p, passing)
}

// members are the endpoints that pass the gates; the others have findings.
func (j *judgement) members(p pooled) (passing []*pb.Endpoint, refused bool) {
	for _, t := range p.tiers {
		for _, name := range t.Endpoints {
			e := j.set.endpoints[name]
			answer := j.gates.answer(p.key, name)
			if answer == route.Pass {
				passing = append(passing, e)
				continue
			}
			refused = true
			path := fmt.Sprintf("%s.tier.%s.endpoints.%s", p.path, t.Name, name)
			j.fail(path, j.remedy(answer, p, e), "endpoint %s fails the contract of %s %s: %s", quote(name), p.kind, quote(p.name), answer)
		}
	}
	return passing, refused
}

// remedy says what a gate looked at.
func (j *judgement) remedy(answer route.Reason, p pooled, e *pb.Endpoint) string {
	m := j.set.models[e.Model]
	switch answer {
	case route.ReasonCapability:
		return fmt.Sprintf("model %s lacks %s", quote(e.Model), strings.Join(without(p.contract.GetRequires(), m.GetCapabilities()), ", "))
	case route.ReasonAPI:
		return fmt.Sprintf("it speaks %s; the %s takes %s", strings.Join(e.Apis, ", "), p.kind, strings.Join(p.apis, ", "))
	case route.ReasonContextWindow:
		return fmt.Sprintf("model %s has a context window of %d; the contract needs %d", quote(e.Model), m.GetContextWindow(), p.contract.GetNeedsContext())
	case route.ReasonOutputCap:
		return fmt.Sprintf("model %s gives up to %d tokens; the contract needs %d", quote(e.Model), m.GetMaxOutputTokens(), p.contract.GetNeedsOutputTokens())
	case route.ReasonRegion:
		return fmt.Sprintf("it is in region %s; the contract allows %s", quote(e.Region), strings.Join(p.contract.GetRegions(), ", "))
	case route.ReasonCompliance:
		return fmt.Sprintf("it lacks %s", strings.Join(without(p.contract.GetCompliance(), e.Compliance), ", "))
	}
	return "take it out of the tier"
}

func without(all, these []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(these, s) })
}

// equivalence wants one statement that covers every artifact of a pool (requirements.md, A2).
func (j *judgement) equivalence(p pooled, pool []*pb.Endpoint) {
	artifacts, models := j.artifacts(modelsOf(pool)), modelsOf(pool)
	if len(artifacts) < 2 {
		return
	}
	for _, e := range p.contract.GetEquivalents() {
		if len(without(artifacts, j.artifacts(e.Models))) == 0 {
			return
		}
	}
	j.fail(p.path+".contract.equivalent", "one equivalent block must name all of them, with evidence", "the pool of workload %s mixes models that no equivalent block covers: %s", quote(p.name), strings.Join(models, ", "))
}

func modelsOf(pool []*pb.Endpoint) []string {
	var names []string
	for _, e := range pool {
		names = append(names, e.Model)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (j *judgement) artifacts(models []string) []string {
	var list []string
	for _, name := range models {
		list = append(list, j.set.models[name].GetArtifact())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

const costTiered = "cost_tiered"

var (
	weighsMoney  = []string{"p2c", "predictive", costTiered}
	fixedVersion = []string{"openai", "openai-compatible", "vllm", "http", "grpc"}
)

func (j *judgement) balance(p pooled, pool []*pb.Endpoint) {
	strategy := p.balance.GetStrategy()
	path := p.path + ".balance." + strategy
	if strategy == costTiered {
		j.bands(p, path, pool)
		return
	}
	if strategy == "predictive" {
		j.foreseen(p, path, pool)
	}
	if len(p.balance.Bands) > 0 {
		j.idle(path+".band."+p.balance.Bands[0].Name, "bands are for cost_tiered")
	}
	if p.balance.PreferQuality {
		j.idle(path+".prefer_quality", "it is for cost_tiered")
	}
	if p.balance.MoneyPerMs > 0 && !slices.Contains(weighsMoney, strategy) {
		j.idle(path+".money_per_ms", "strategy "+strategy+" weighs no money")
	}
}

// foreseen warns of model servers of which nobody says how many slots they have: predictive guesses.
func (j *judgement) foreseen(p pooled, path string, pool []*pb.Endpoint) {
	var blind []string
	for _, e := range pool {
		own := e.Capacity != nil || e.Metrics != "" || e.Instances != nil || j.set.providers[e.Provider].GetDialect() == "vllm"
		if own && e.Concurrency == nil && e.Capacity.GetSlots() == 0 {
			blind = append(blind, e.Name)
		}
	}
	if n := len(blind); n > 0 {
		j.warn(path, "say how many requests it takes at once: capacity { slots = … }, or concurrency", "predictive takes it that %d of the endpoints of %s %s answer 32 requests at once, as %s", n, p.kind, quote(p.name), quote(blind[0]))
	}
}

// bands wants every model of a pool in a band, and bands that go from cheap and small to dear
// and large.
func (j *judgement) bands(p pooled, path string, pool []*pb.Endpoint) {
	if len(p.balance.Bands) == 0 {
		j.fail(path, `add band "simple" { upto_tokens = … models = […] }, the cheapest first`, "cost_tiered without a band")
		return
	}
	var banded []string
	for _, b := range p.balance.Bands {
		banded = append(banded, b.Models...)
	}
	if out := without(modelsOf(pool), banded); len(out) > 0 {
		j.fail(path, "put each into a band, or its endpoints out of the tiers", "in no band: %s", strings.Join(out, ", "))
	}
	for i, b := range p.balance.Bands {
		at := path + ".band." + b.Name
		if out := without(b.Models, modelsOf(pool)); len(out) > 0 && !j.partial[p.key] {
			j.warn(at, "put an endpoint of it into a tier, or take it out of the band", "band %s: no endpoint of a tier has %s", quote(b.Name), strings.Join(out, ", "))
		}
		if i > 0 {
			j.ascend(at, p.balance.Bands[i-1], b)
		}
	}
}

// ascend holds a band against the one before it.
func (j *judgement) ascend(at string, before, b *pb.Band) {
	switch {
	case b.UptoTokens == nil:
	case before.UptoTokens == nil:
		j.fail(at, "the band that takes requests of any size comes last", "band %s, before it, takes requests of any size, and this one up to %d tokens", quote(before.Name), b.GetUptoTokens())
	case b.GetUptoTokens() < before.GetUptoTokens():
		j.fail(at, "put the bands in order: each takes requests up to more tokens than the one before", "band %s takes up to %d tokens, and %s, before it, up to %d", quote(b.Name), b.GetUptoTokens(), quote(before.Name), before.GetUptoTokens())
	}
	if j.dearer(before, b) {
		j.warn(at, "the cheapest comes first; prefer_quality = true turns the order round", "every model of band %s is cheaper than any of band %s, before it", quote(b.Name), quote(before.Name))
	}
}

// dearer tells whether whatever model serves a request, the first band's price is above the
// second's: neither rate is below.
func (j *judgement) dearer(first, second *pb.Band) bool {
	for _, a := range first.Models {
		for _, b := range second.Models {
			p, q := j.set.models[a].GetPrice(), j.set.models[b].GetPrice()
			if p.GetInput() < q.GetInput() || p.GetOutput() < q.GetOutput() || p.GetInput() == q.GetInput() && p.GetOutput() == q.GetOutput() {
				return false
			}
		}
	}
	return true
}

// idle warns of an attribute that was written and does nothing.
func (j *judgement) idle(path, why string) {
	if _, written := j.places[path]; written {
		j.warn(path, why, "%s has no effect", path[strings.LastIndexByte(path, '.')+1:])
	}
}

// workload judges what tools do not have.
func (j *judgement) workload(w *pb.Workload) {
	path := "workload." + w.Name
	for i, e := range w.Contract.GetEquivalents() {
		at := fmt.Sprintf("%s.contract.equivalent.%d.expires", path, i+1)
		j.ends(at, e.Expires, "the evidence expired", "the evidence expires", "evaluate again, and move expires")
	}
	if strategy := w.Balance.GetStrategy(); w.Affinity.GetRule() == "score" && scoreless(strategy) {
		j.fail(path+".affinity.rule", `rule = "median", or a strategy with scores`, "affinity by rule score, and strategy %s has no scores", strategy)
	}
	if w.Balance.GetStrategy() == "hash" {
		j.idle(path+".affinity.slack", "strategy hash leaves a home by its load alone")
	}
	if w.Attempts.GetSameEndpoint() >= w.Attempts.GetMax() {
		j.idle(path+".attempts.same_endpoint", "there are fewer attempts than that")
	}
}
