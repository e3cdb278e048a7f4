package clientlib

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/pointsman/pointsman/clientlib/route"
)

// terms are what the library itself needs of a catalog. They never change.
type terms struct {
	workloads        map[string]workTerms
	priorities       map[string]route.Priority // by tenant
	policies         map[string]string         // what a tenant may have of endpoints, or its name if that is its own
	windows, outputs []int64                   // that endpoints hold
	meters           map[string]*meter         // by model
	addresses        sync.Map                  // *address by *route.Endpoint: the one thing that comes later
}

// workTerms are those of one workload.
type workTerms struct {
	apis   []string // that it takes
	total  int64    // µs that a call may take
	whole  bool     // its streams are held to their end
	begins bool     // how a prompt begins may say where it goes
	models []*meter // of its endpoints
}

// termsOf keeps of the terms before what was learned.
func termsOf(c *route.Catalog, was *terms) *terms {
	t := &terms{workloads: map[string]workTerms{}, priorities: map[string]route.Priority{}, policies: map[string]string{}}
	endpoints := t.meter(c, was)
	for i := range c.Tenants {
		tenant := &c.Tenants[i]
		t.priorities[tenant.Name], t.policies[tenant.Name] = tenant.Priority, policyOf(tenant)
	}
	for i := range c.Workloads {
		w := &c.Workloads[i]
		t.workloads[w.Name] = workTerms{
			apis: w.APIs, total: w.Attempts.Total, whole: w.Whole, models: modelsOf(w, endpoints),
			begins: w.Affinity.On == route.AffinityPrefix || w.Strategy == route.Hash,
		}
	}
	for i := range c.Endpoints {
		t.windows = append(t.windows, c.Endpoints[i].ContextWindow)
		t.outputs = append(t.outputs, c.Endpoints[i].MaxOutputTokens)
	}
	slices.Sort(t.windows)
	slices.Sort(t.outputs)
	return t
}

// meter gives every model a meter. The answer has them by endpoint.
func (t *terms) meter(c *route.Catalog, was *terms) (endpoints map[string]*meter) {
	t.meters, endpoints = map[string]*meter{}, map[string]*meter{}
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		m := t.meters[e.Model]
		if m == nil && was != nil {
			m = was.meters[e.Model]
		}
		if m == nil {
			m = newMeter()
		}
		t.meters[e.Model], endpoints[e.Name] = m, m
	}
	return endpoints
}

// modelsOf are the meters of the models that a workload may meet.
func modelsOf(w *route.Workload, endpoints map[string]*meter) (all []*meter) {
	for _, tier := range w.Tiers {
		for _, name := range tier.Endpoints {
			if m := endpoints[name]; m != nil && !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	return all
}

// ratio is how many tokens a byte of a workload's text is at most: too small a reservation
// runs into limits, one too large is given back.
func (t *terms) ratio(workload string) float64 {
	most := 0.0
	for _, m := range t.workloads[workload].models {
		most = max(most, m.ratio())
	}
	return cmp.Or(most, firstRatio)
}

// policyOf is equal for tenants that may have the same.
func policyOf(t *route.Tenant) string {
	if t.Budget.Has || len(t.Reservations) > 0 {
		return t.Name
	}
	return strings.Join(t.Regions, ",") + ";" + strings.Join(t.Compliance, ",")
}

// defaultTenant is what an unnamed one is called.
const defaultTenant = "default"

// tenant is whom a request is for.
func (r *Request) tenant() string { return cmp.Or(r.Tenant, defaultTenant) }

func (t *terms) ask(c *call) ask {
	r, tenant := &c.request, c.request.tenant()
	a := ask{tenant: tenant, kind: kind{
		priority: t.priorities[tenant], workload: c.workload, api: r.API, needs: strings.Join(r.Needs, ","), policy: t.policies[tenant],
		tried: c.tried, stream: r.Stream, window: atLeast(t.windows, r.Input+max(r.MaxOutput, 1)), output: atLeast(t.outputs, r.MaxOutput),
	}}
	if c.attempts > 0 || r.Input != tokens(r.Input) || r.MaxOutput != tokens(r.MaxOutput) { // it has tried some, or its sizes are refused
		a.call = c
	}
	return a
}

// atLeast is the smallest of the sizes that holds n.
func atLeast(sizes []int64, n int64) int64 {
	if i, _ := slices.BinarySearch(sizes, n); i < len(sizes) {
		return sizes[i]
	}
	return math.MaxInt64
}

// tokens is a number of them as the core counts it.
func tokens(n int64) int64 { return min(max(n, 0), 1<<40) }

// tokens is what a request counts for.
func (r *Request) tokens() int64 { return max(tokens(r.Input)+tokens(r.MaxOutput), 1) }
