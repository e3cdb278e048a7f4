package rpc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
)

// asks are the requests that would be served under these overrides, by workload, of the workloads that an
// endpoint, or the one that an instance is of, is in: plain ones, and for all that the workload's endpoints offer beyond its contract one at
// a time, for every kind of tenant. The plain ones come first.
func (s *fleetService) asks(live Live, overrides []route.Override, endpoint string) (map[string][]string, error) {
	served, err := s.catalog(live)
	if err != nil {
		return nil, err
	}
	under := *served
	under.Overrides = overrides
	c, err := s.compiled(live, &under)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for i := range c.catalog.Workloads {
		w := &c.catalog.Workloads[i]
		if slices.Contains(members(w), route.Declared(endpoint)) {
			out[w.Name] = c.served(w)
		}
	}
	return out, nil
}

func members(w *route.Workload) []string {
	var names []string
	for _, t := range w.Tiers {
		names = append(names, t.Endpoints...)
	}
	return names
}

// served words the requests of a workload that go somewhere: "with tools", "of tenant acme".
func (c *core) served(w *route.Workload) []string {
	var out []string
	needs, tenants := c.offers(w), c.kindsOfTenant()
	for _, need := range append([]string{""}, needs...) {
		for _, tenant := range tenants {
			q := route.Request{Tenant: tenant}
			if need != "" {
				q.Needs = []string{need}
			}
			if c.router.Explain(c.now, w.Name, q).Err == nil {
				out = append(out, worded(need, tenant))
			}
		}
	}
	return out
}

func worded(need, tenant string) string {
	var parts []string
	if need != "" {
		parts = append(parts, "with "+need)
	}
	if tenant != "" {
		parts = append(parts, "of tenant "+tenant)
	}
	return strings.Join(parts, " ")
}

// offers are what endpoints of a workload can do beyond its contract.
func (c *core) offers(w *route.Workload) []string {
	var all []string
	in := members(w)
	for i := range c.catalog.Endpoints {
		if e := &c.catalog.Endpoints[i]; slices.Contains(in, e.Name) {
			all = append(all, without(e.Capabilities, w.Contract.Requires)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// kindsOfTenant are tenants of which no two may do the same; "" where none is declared.
func (c *core) kindsOfTenant() []string {
	if len(c.catalog.Tenants) == 0 {
		return []string{""}
	}
	var names []string
	seen := map[string]bool{}
	for _, t := range c.catalog.Tenants {
		kind := fmt.Sprint(t.Workloads, t.Regions, t.Compliance)
		if !seen[kind] {
			seen[kind] = true
			names = append(names, t.Name)
		}
	}
	return names
}
