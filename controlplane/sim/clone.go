package sim

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
)

// clone is a catalog that shares nothing with another.
func clone(c *route.Catalog) *route.Catalog {
	if c == nil {
		return &route.Catalog{}
	}
	out := *c
	out.Quotas, out.Overrides = slices.Clone(c.Quotas), slices.Clone(c.Overrides)
	out.Endpoints, out.Workloads, out.Tenants = slices.Clone(c.Endpoints), slices.Clone(c.Workloads), slices.Clone(c.Tenants)
	for i := range out.Endpoints {
		e := &out.Endpoints[i]
		e.APIs, e.Capabilities, e.Compliance = slices.Clone(e.APIs), slices.Clone(e.Capabilities), slices.Clone(e.Compliance)
		e.Quotas, e.Price.Above = slices.Clone(e.Quotas), slices.Clone(e.Price.Above)
		e.Instances.Addresses = slices.Clone(e.Instances.Addresses)
	}
	for i := range out.Workloads {
		w := &out.Workloads[i]
		w.APIs, w.Tiers, w.Bands = slices.Clone(w.APIs), slices.Clone(w.Tiers), slices.Clone(w.Bands)
		w.Contract.Requires, w.Contract.Regions = slices.Clone(w.Contract.Requires), slices.Clone(w.Contract.Regions)
		w.Contract.Compliance = slices.Clone(w.Contract.Compliance)
		for k := range w.Tiers {
			w.Tiers[k].Endpoints = slices.Clone(w.Tiers[k].Endpoints)
		}
		for k := range w.Bands {
			w.Bands[k].Models = slices.Clone(w.Bands[k].Models)
		}
	}
	for i := range out.Tenants {
		t := &out.Tenants[i]
		t.Workloads, t.Regions, t.Compliance = slices.Clone(t.Workloads), slices.Clone(t.Regions), slices.Clone(t.Compliance)
		t.Reservations = slices.Clone(t.Reservations)
	}
	return &out
}
