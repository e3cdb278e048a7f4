package sim

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
)

// rights is who may be asked what, read from the catalog again, without the core: an attempt
// that it does not allow is a violation (requirements.md, G4).
type rights struct {
	workloads map[string]*route.Workload
	tenants   map[string]*route.Tenant // none: all may all
	places    map[right][]bool
	specs     []*route.Endpoint
	lastOf    right // the last one asked for
	last      []bool
}

// right is what of a call is always the same.
type right struct{ workload, tenant string }

func newRights(w *world) rights {
	r := rights{workloads: map[string]*route.Workload{}, tenants: map[string]*route.Tenant{}, places: map[right][]bool{}, specs: w.specs}
	for i := range w.catalog.Workloads {
		r.workloads[w.catalog.Workloads[i].Name] = &w.catalog.Workloads[i]
	}
	for i := range w.catalog.Tenants {
		r.tenants[w.catalog.Tenants[i].Name] = &w.catalog.Tenants[i]
	}
	return r
}

// allow tells whether a call may go to a place.
func (r *rights) allow(c *call, place int32) bool {
	e := r.specs[place]
	for _, need := range c.arrival.Needs {
		if !slices.Contains(e.Capabilities, need) {
			return false
		}
	}
	if c.arrival.Stream && !slices.Contains(e.Capabilities, "stream") {
		return false
	}
	return r.of(&c.arrival.Workload, &c.arrival.Tenant)[place]
}

// of is which places may serve a tenant's calls of a workload, whatever they need beside.
func (r *rights) of(workload, tenant *string) []bool {
	k := right{*workload, *tenant}
	if r.last != nil && k == r.lastOf {
		return r.last
	}
	all, ok := r.places[k]
	if !ok {
		all = make([]bool, len(r.specs))
		for place, e := range r.specs {
			all[place] = r.serves(e, r.workloads[k.workload], k.tenant)
		}
		r.places[k] = all
	}
	r.lastOf, r.last = k, all
	return all
}

func (r *rights) serves(e *route.Endpoint, w *route.Workload, tenant string) bool {
	in := slices.ContainsFunc(w.Tiers, func(t route.Tier) bool { return slices.Contains(t.Endpoints, e.Name) })
	ok := in && has(e.Capabilities, w.Contract.Requires) && has(e.Compliance, w.Contract.Compliance) && within(e.Region, w.Contract.Regions)
	if len(r.tenants) == 0 || !ok {
		return ok
	}
	t := r.tenants[tenantName(tenant)]
	return t != nil && (slices.Contains(t.Workloads, w.Name) || slices.Contains(t.Workloads, "*")) &&
		has(e.Compliance, t.Compliance) && within(e.Region, t.Regions)
}

func (r *rights) priority(tenant string) route.Priority {
	if t := r.tenants[tenantName(tenant)]; t != nil {
		return min(t.Priority, route.PriorityBatch)
	}
	return route.PriorityInteractive
}

func tenantName(name string) string {
	if name == "" {
		return "default"
	}
	return name
}

func has(all, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(s string) bool { return !slices.Contains(all, s) })
}

// within tells whether a region is one of some, or in one: eu/west is in eu.
func within(region string, some []string) bool {
	return len(some) == 0 || slices.ContainsFunc(some, func(s string) bool { return region == s || strings.HasPrefix(region, s+"/") })
}
