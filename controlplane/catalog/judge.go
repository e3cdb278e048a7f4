package catalog

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// judge holds the catalog as a whole against the rules of catalog.md.
func (c *compiler) judge(now time.Time) {
	s, partial := c.sound()
	g, err := gatesOf(s)
	if err != nil {
		c.fail("", "", "the libraries would refuse this catalog: %v", err)
		return
	}
	j := &judgement{report: c.report, set: s, gates: g, partial: partial, now: now}
	c.fill(j)
	j.run()
	c.unusedPolicies()
	j.withoutEffect()
}

// sound is what can be judged: without blocks that have a finding already, and what rests on them.
// Pools that lost something by that are partial.
func (c *compiler) sound() (*set, map[string]bool) {
	s, partial := newSet(), map[string]bool{}
	keep(c, "model", s.models, c.catalog.models)
	keep(c, "provider", s.providers, c.catalog.providers)
	keep(c, "quota", s.quotas, c.catalog.quotas)
	keep(c, "endpoint", s.endpoints, c.catalog.endpoints)
	keep(c, "workload", s.workloads, c.catalog.workloads)
	keep(c, "tool", s.tools, c.catalog.tools)
	keep(c, "tenant", s.tenants, c.catalog.tenants)
	for name, e := range s.endpoints {
		if s.providers[e.Provider] == nil || e.Model != "" && s.models[e.Model] == nil || slices.ContainsFunc(e.Quotas, func(q string) bool { return s.quotas[q] == nil }) {
			delete(s.endpoints, name)
		}
	}
	for name, w := range s.workloads {
		if lost(s, w.Tiers) {
			w = proto.CloneOf(w)
			s.workloads[name], partial[name] = w, true
			w.Tiers = remaining(s, w.Tiers)
		}
	}
	for name, t := range s.tools {
		if lost(s, t.Tiers) {
			t = proto.CloneOf(t)
			s.tools[name], partial[toolPool+name] = t, true
			t.Tiers = remaining(s, t.Tiers)
		}
	}
	return s, partial
}

func keep[M any](c *compiler, kind string, dst, src map[string]M) {
	for name, m := range src {
		if !c.spoiled(kind, name) {
			dst[name] = m
		}
	}
}

func lost(s *set, tiers []*pb.Tier) bool {
	return slices.ContainsFunc(tiers, func(t *pb.Tier) bool {
		return slices.ContainsFunc(t.Endpoints, func(e string) bool { return s.endpoints[e] == nil })
	})
}

func remaining(s *set, tiers []*pb.Tier) []*pb.Tier {
	for _, t := range tiers {
		t.Endpoints = slices.DeleteFunc(t.Endpoints, func(e string) bool { return s.endpoints[e] == nil })
	}
	return tiers
}

// fill takes out of tiers what a pattern gave and the gates refuse.
func (c *compiler) fill(j *judgement) {
	for _, p := range j.pools() {
		left := map[route.Reason]int{}
		for _, t := range p.tiers {
			t.Endpoints = slices.DeleteFunc(t.Endpoints, func(e string) bool {
				answer := j.gates.answer(p.key, e)
				refused := answer != route.Pass && c.wildcards[fmt.Sprintf("%s.tier.%s.endpoints.%s", p.path, t.Name, e)]
				if refused {
					left[answer]++
				}
				return refused
			})
		}
		j.left(p.key, left)
	}
}

func (c *compiler) unusedPolicies() {
	for _, name := range keys(c.policies) {
		if p := c.policies[name]; !p.used {
			c.warn(p.path, "use = [policy."+name+"], or take it out", "nobody uses policy %s", quote(name))
		}
	}
}

// judgement is the rules applied to a set; compositions pass through it too.
type judgement struct {
	*report
	set      *set
	gates    *gates
	partial  map[string]bool // pools that are judged without some of their endpoints
	excluded map[string]map[route.Reason]int
	now      time.Time
}

func (j *judgement) left(pool string, counts map[route.Reason]int) {
	if j.excluded == nil {
		j.excluded = map[string]map[route.Reason]int{}
	}
	j.excluded[pool] = counts
}

func (j *judgement) run() {
	for _, p := range j.pools() {
		j.pool(p)
	}
	for _, name := range keys(j.set.workloads) {
		j.workload(j.set.workloads[name])
	}
	for _, name := range keys(j.set.models) {
		j.model(j.set.models[name])
	}
	for _, name := range keys(j.set.endpoints) {
		j.endpoint(j.set.endpoints[name])
	}
	for _, name := range keys(j.set.quotas) {
		j.quota(j.set.quotas[name])
	}
	for _, name := range keys(j.set.tenants) {
		j.tenant(j.set.tenants[name])
	}
	j.identities()
}

// identities warns of tenants that keep nobody out, and of those that nobody is let in for: naming the
// first identity turns the one into the other.
func (j *judgement) identities() {
	const name = `identities = ["spiffe://…"], those of its programs' connections; "*" is everybody who may subscribe`
	var without []string
	for _, t := range keys(j.set.tenants) {
		if len(j.set.tenants[t].Identities) == 0 {
			without = append(without, t)
		}
	}
	if len(without) == 0 {
		return
	}
	if len(without) == len(j.set.tenants) {
		j.warn("tenant."+without[0], name, "no tenant names identities: whoever may subscribe sees every workload, and acts for any tenant")
		return
	}
	for _, t := range without {
		j.warn("tenant."+t, name, "tenant %s names no identities, and others do: nobody may act for it", quote(t))
	}
}

// lately is how long before a date people are warned (catalog.md, retires).
const lately = 60 * 24 * time.Hour

// ends warns of a date that is past or near.
func (j *judgement) ends(path, date, past, near, hint string) {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil || j.now.IsZero() {
		return
	}
	switch left := day.Sub(j.now); {
	case left <= 0:
		j.warn(path, hint, "%s on %s", past, date)
	case left <= lately:
		j.warn(path, hint, "%s on %s, in %d days", near, date, int(left.Hours()/24))
	}
}

func (j *judgement) model(m *pb.Model) {
	path := "model." + m.Name
	j.ends(path+".retires", m.Retires, "the model retired", "the model retires", "move its endpoints to a successor")
	if m.MaxOutputTokens > m.ContextWindow {
		j.fail(path+".max_output_tokens", "the context window is input and output together", "max_output_tokens %d is above context_window %d", m.MaxOutputTokens, m.ContextWindow)
	}
}

func (j *judgement) endpoint(e *pb.Endpoint) {
	path := "endpoint." + e.Name
	if j.set.providers[e.Provider].BaseUrl == "" && e.Instances == nil {
		j.fail(path, "add instances here, or base_url to the provider", "endpoint %s has no address", quote(e.Name))
	}
	if e.Concurrency == nil && len(e.Quotas) == 0 {
		j.warn(path, "add concurrency or quotas", "endpoint %s has no limit at all", quote(e.Name))
	}
}

func (j *judgement) quota(q *pb.Quota) {
	path := "quota." + q.Name
	if !limited(q) {
		j.warn(path, "add tokens_per_minute or requests_per_minute", "quota %s has no limit at all", quote(q.Name))
	}
	j.reserved(path, "requests_per_minute", q.RequestsPerMinute, func(r *pb.Reservation) *int64 { return r.RequestsPerMinute })
	j.reserved(path, "tokens_per_minute", q.TokensPerMinute, func(r *pb.Reservation) *int64 { return r.TokensPerMinute })
}

func limited(q *pb.Quota) bool {
	return q.RequestsPerMinute != nil || q.TokensPerMinute != nil || q.InputTokensPerMinute != nil || q.OutputTokensPerMinute != nil || q.RequestsPerDay != nil
}

// reserved compares one limit of a quota with what tenants reserve of it.
func (j *judgement) reserved(path, attribute string, limit *int64, of func(*pb.Reservation) *int64) {
	sum, quota := int64(0), path[len("quota."):]
	for _, name := range keys(j.set.tenants) {
		for _, r := range j.set.tenants[name].Reservations {
			if r.Quota != quota || of(r) == nil {
				continue
			}
			n, at := *of(r), fmt.Sprintf("tenant.%s.reserve.%s.%s", name, quota, attribute)
			sum += n
			switch {
			case limit == nil:
				j.warn(at, "the quota has no such limit", "%s of a reservation has no effect", attribute)
			case n > *limit:
				j.fail(at, fmt.Sprintf("%d at most", *limit), "a reservation of %d is above the %s of quota %s", n, attribute, quote(quota))
				return
			}
		}
	}
	if limit != nil && sum > *limit {
		j.fail(path+"."+attribute, fmt.Sprintf("together %d at most", *limit), "tenants reserve %d of the %s of quota %s", sum, attribute, quote(quota))
	}
}

// tenant reports one that none of its workloads can serve.
func (j *judgement) tenant(t *pb.Tenant) {
	if len(t.Regions) == 0 && len(t.Compliance) == 0 {
		return
	}
	asked := false
	for _, name := range keys(j.set.workloads) {
		if !slices.Contains(t.Workloads, name) && !slices.Contains(t.Workloads, everything) {
			continue
		}
		if j.partial[name] || j.serves(j.set.workloads[name], t) {
			return
		}
		asked = true
	}
	if asked {
		j.fail("tenant."+t.Name+".regions", "let it use more regions, or give one of its workloads an endpoint where it may be", "none of the workloads of tenant %s has an endpoint that its regions and compliance allow", quote(t.Name))
	}
}

func (j *judgement) serves(w *pb.Workload, t *pb.Tenant) bool {
	for _, tier := range w.Tiers {
		for _, e := range tier.Endpoints {
			if j.gates.answer(w.Name, e) == route.Pass && j.gates.answer(residence(t), e) == route.Pass {
				return true
			}
		}
	}
	return false
}
