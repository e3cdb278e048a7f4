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
	whole            map[string]bool // workloads whose streams are held to their end
	priorities       map[string]route.Priority
	policies         map[string]string   // what a tenant may have of endpoints, or its name if that is its own
	totals           map[string]int64    // µs that a call may take, by workload
	apis             map[string][]string // that a workload takes
	windows, outputs []int64             // that endpoints hold
	meters           map[string]*meter   // by model
	models           map[string][]*meter // of a workload's endpoints
	addresses        sync.Map            // *address by *route.Endpoint: the one thing that comes later
}

// termsOf keeps of the terms before what was learned.
func termsOf(c *route.Catalog, was *terms) *terms {
	t := &terms{whole: map[string]bool{}, priorities: map[string]route.Priority{}, policies: map[string]string{}, totals: map[string]int64{}, apis: map[string][]string{}}
	t.meter(c, was)
	for i := range c.Tenants {
		tenant := &c.Tenants[i]
		t.priorities[tenant.Name], t.policies[tenant.Name] = tenant.Priority, policyOf(tenant)
	}
	for i := range c.Workloads {
		w := &c.Workloads[i]
		t.whole[w.Name], t.totals[w.Name], t.apis[w.Name] = w.Whole, w.Attempts.Total, w.APIs
	}
	for i := range c.Endpoints {
		t.windows = append(t.windows, c.Endpoints[i].ContextWindow)
		t.outputs = append(t.outputs, c.Endpoints[i].MaxOutputTokens)
	}
	slices.Sort(t.windows)
	slices.Sort(t.outputs)
	return t
}

// meter gives every model a meter, and every workload those of the models it may meet.
func (t *terms) meter(c *route.Catalog, was *terms) {
	t.meters, t.models = map[string]*meter{}, map[string][]*meter{}
	endpoints := map[string]*meter{}
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
	for i := range c.Workloads {
		w := &c.Workloads[i]
		for _, tier := range w.Tiers {
			for _, name := range tier.Endpoints {
				if m := endpoints[name]; m != nil && !slices.Contains(t.models[w.Name], m) {
					t.models[w.Name] = append(t.models[w.Name], m)
				}
			}
		}
	}
}

// ratio is how many tokens a byte of a workload's text is at most: too small a reservation
// runs into limits, one too large is given back.
func (t *terms) ratio(workload string) float64 {
	most := 0.0
	for _, m := range t.models[workload] {
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
