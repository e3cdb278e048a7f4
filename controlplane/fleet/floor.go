package fleet

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

const evenWeight = 100 // of an endpoint that declares none, at speed 1

// pool is what one workload, and one need, may be served by: over all tiers.
type pool struct {
	members []*endpoint
	weights []int64
	total   int64
}

// limits are how long an attempt may take, over the workloads that reach the endpoint.
type limits struct{ stream, whole, total int64 }

// service is a workload that an endpoint serves.
type service struct {
	name  string
	lower bool // not in the first tier that has anybody for it
}

// relate derives from a catalog what endpoints share.
func (f *Fleet) relate(c *route.Catalog) {
	f.tiers = f.tiers[:0]
	weights := map[string]int64{}
	for _, o := range c.Overrides {
		e := f.endpoints[o.Endpoint]
		if e == nil {
			continue
		}
		if o.Drain {
			e.drains = append(e.drains, o)
		}
		if o.Weight != route.Absent && !o.Drain && o.Forced == route.NotForced {
			weights[o.Endpoint] = o.Weight
		}
	}
	for i := range c.Workloads {
		f.relateWorkload(&c.Workloads[i], weights)
	}
}

func (f *Fleet) relateWorkload(w *route.Workload, weights map[string]int64) {
	byNeed, first := map[string]*pool{}, f.relateTiers(w)
	for _, name := range members(w) {
		e := f.endpoints[name]
		if !fits(e, w) {
			continue
		}
		e.services = append(e.services, service{w.Name, !slices.Contains(first, name)})
		e.limits.extend(&w.Attempts)
		weight := e.spec.Weight
		if o, ok := weights[name]; ok {
			weight = o
		}
		if weight == route.Absent {
			weight = evenWeight
		}
		for _, need := range append([]string{""}, e.spec.Capabilities...) {
			p := byNeed[need]
			if p == nil {
				p = &pool{}
				byNeed[need] = p
			}
			p.members, p.weights, p.total = append(p.members, e), append(p.weights, weight), p.total+weight
			e.pools = append(e.pools, p)
		}
	}
}

// relateTiers joins those that share a tier, and returns the first one that has anybody.
func (f *Fleet) relateTiers(w *route.Workload) (first []string) {
	for _, t := range w.Tiers {
		tier := &tierOf{}
		for _, name := range t.Endpoints {
			if e := f.endpoints[name]; fits(e, w) {
				tier.members = append(tier.members, e)
				e.tiers = append(e.tiers, tier)
			}
		}
		if len(tier.members) == 0 {
			continue
		}
		f.tiers = append(f.tiers, tier)
		if first == nil {
			first = t.Endpoints
		}
	}
	return first
}

func fits(e *endpoint, w *route.Workload) bool {
	return e != nil && hasAll(e.spec.Capabilities, w.Contract.Requires)
}

// members are the endpoints of all tiers, each once, sorted.
func members(w *route.Workload) []string {
	var out []string
	for _, t := range w.Tiers {
		out = append(out, t.Endpoints...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func hasAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(c string) bool { return !slices.Contains(have, c) })
}

func (l *limits) extend(a *route.Attempts) {
	l.stream, l.whole, l.total = max(l.stream, a.FirstToken), max(l.whole, a.Answer), max(l.total, a.Total)
}

func (e *endpoint) serves(workload string) bool { return e.service(workload) != nil }

func (e *endpoint) service(workload string) *service {
	for i := range e.services {
		if e.services[i].name == workload {
			return &e.services[i]
		}
	}
	return nil
}

// spares tells whether a soft trip leaves every pool enough: what is out already, drains
// and the candidate count.
func (e *endpoint) spares(now int64, c breaker.Class, w *word) bool {
	for _, p := range e.pools {
		var out int64
		for i, m := range p.members {
			if m == e || m.drained(now) || m.out(c, w) {
				out += p.weights[i]
			}
		}
		if float64(out) > e.spec.Breaker.MaxEjected*float64(p.total) {
			return false
		}
	}
	return true
}

func (e *endpoint) drained(now int64) bool {
	return slices.ContainsFunc(e.drains, func(o route.Override) bool { return o.Until == 0 || now < o.Until })
}

// out tells whether some of the requests that a new word would refuse are refused here.
func (e *endpoint) out(c breaker.Class, w *word) bool {
	return slices.ContainsFunc(e.words, func(v *word) bool {
		return v.holds() && (v.class == breaker.Any || v.class == c) &&
			(v.everywhere || w.everywhere || v.locality == w.locality)
	})
}
