package route_test

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

// ruling is the reasons that must stand against an endpoint, and those that may.
type ruling struct{ must, may reasons }

type reasons uint32

func reason(r route.Reason) reasons { return 1 << r }

func (a *ruling) add(r route.Reason, must, may bool) {
	if must {
		a.must |= reason(r)
	}
	if must || may {
		a.may |= reason(r)
	}
}

func within(all []string, some ...string) bool {
	for _, s := range some {
		if !slices.Contains(all, s) {
			return false
		}
	}
	return true
}

func inRegion(regions []string, path string) bool {
	return len(regions) == 0 || slices.ContainsFunc(regions, func(r string) bool {
		return r != "" && strings.HasPrefix(path+"/", r+"/")
	})
}

// tenant is whose contract a request has; ok is false when it may not use the workload.
func (m *model) tenant(w *route.Workload, q *route.Request) (t route.Tenant, ok bool) {
	if len(m.catalog.Tenants) == 0 {
		return t, true
	}
	name := q.Tenant
	if name == "" {
		name = "default"
	}
	for _, t := range m.catalog.Tenants {
		if t.Name == name {
			return t, slices.Contains(t.Workloads, w.Name) || slices.Contains(t.Workloads, "*")
		}
	}
	return t, false
}

// lasting is the gates that no time and no load move.
func (m *model) lasting(now int64, w *route.Workload, q *route.Request, e *route.Endpoint, larger int64) (a ruling) {
	t, c := first(m.tenant(w, q)), &w.Contract
	has := e.Capabilities
	if e.Model == "" {
		has = append(slices.Clone(has), "stream")
	}
	needs := append(slices.Clone(c.Requires), q.Needs...)
	if q.Stream {
		needs = append(needs, "stream")
	}
	apis := w.APIs
	if q.API != "" {
		apis = slices.DeleteFunc(slices.Clone(apis), func(a string) bool { return a != q.API })
	}
	window := max(c.NeedsContext, q.Input+max(q.MaxOutput, 1), larger)
	model := e.Model != ""
	a.add(route.ReasonCapability, !within(has, needs...), false)
	a.add(route.ReasonAPI, !slices.ContainsFunc(apis, func(s string) bool { return slices.Contains(e.APIs, s) }), false)
	a.add(route.ReasonContextWindow, e.ContextWindow == 0 && model || e.ContextWindow > 0 && e.ContextWindow < window, false)
	a.add(route.ReasonOutputCap, e.MaxOutputTokens > 0 && e.MaxOutputTokens < max(c.NeedsOutputTokens, q.MaxOutput), false)
	a.add(route.ReasonArtifact, model && e.Artifact == "", false)
	a.add(route.ReasonRegion, !inRegion(c.Regions, e.Region) || !inRegion(t.Regions, e.Region), false)
	a.add(route.ReasonCompliance, !within(e.Compliance, c.Compliance...) || !within(e.Compliance, t.Compliance...), false)
	a.add(m.local.Usable(e), m.local.Usable(e) != route.Pass, false)
	return a
}

func first[A, B any](a A, _ B) A { return a }

// passing is the gates that end by themselves and take a tier down: all but the breaker's.
func (m *model) passing(now int64, e *route.Endpoint) (a ruling) {
	x := m.fate(e)
	drained, forced := m.share(now, e) == 0, m.forced(now, e)
	for _, o := range m.standing(now, e) {
		drained = drained || o.Drain
	}
	key := m.credential(x)
	a.add(route.ReasonDrained, drained, false)
	a.add(route.ReasonRetired, now < x.out && !x.unsure || e.Retires > 0 && m.local.Wall+now >= e.Retires, now < x.out)
	a.add(route.ReasonCredential, now < key.sure && !x.unsure, now < key.perhaps)
	a.add(route.ReasonBreakerOpen, forced == route.ForcedOpen, false)
	return a
}

// standing are the overrides that hold now.
func (m *model) standing(now int64, e *route.Endpoint) []route.Override {
	return slices.DeleteFunc(slices.Clone(m.catalog.Overrides), func(o route.Override) bool {
		return o.Endpoint != e.Name || o.Until != 0 && now >= o.Until
	})
}

func (m *model) forced(now int64, e *route.Endpoint) (f route.Forced) {
	for _, o := range m.standing(now, e) {
		if o.Forced != route.NotForced {
			f = o.Forced
		}
	}
	return f
}

// share is 0 for what is never drawn.
func (m *model) share(now int64, e *route.Endpoint) float64 {
	w := e.Weight
	for _, o := range m.standing(now, e) {
		if o.Weight != route.Absent {
			w = o.Weight
		}
	}
	if w != route.Absent {
		return float64(w)
	}
	if row := m.row(e); row != nil && row.Speed > 0 && now < row.At+600*sec {
		return 100 * row.Speed
	}
	return 100
}

func (m *model) row(e *route.Endpoint) *route.FleetEndpoint {
	for i := range m.fleet.Endpoints {
		if row := &m.fleet.Endpoints[i]; row.Name == e.Name && row.Identity == e.Identity {
			return row
		}
	}
	return nil
}

// spilling is the gates of load and limits: they spill a request.
func (m *model) spilling(now int64, w *route.Workload, e *route.Endpoint) (a ruling) {
	x := m.fate(e)
	full := e.Concurrency != route.Absent && x.inFlight >= e.Concurrency
	loads := slices.ContainsFunc(m.fleet.Endpoints, func(r route.FleetEndpoint) bool { return len(r.Loads) > 0 && now < r.At+30*sec })
	a.add(route.ReasonTooSlow, false, w.Contract.MaxTTFT > 0 && m.measured)
	for _, q := range m.quotas(x) {
		a.add(route.ReasonQuotaCooldown, now < q.sure && !x.unsure, now < q.perhaps)
	}
	a.add(route.ReasonQuotaRequests, false, len(e.Quotas) > 0)
	a.add(route.ReasonQuotaTokens, false, len(e.Quotas) > 0)
	a.add(route.ReasonConcurrency, full, e.Concurrency != route.Absent && (loads || len(m.catalog.Tenants) > 0))
	return a
}

// word says whether the fleet's word or this process's own refuses the classes, and
// whether by latency alone; sure is false where nobody has looked since the word expired.
func (m *model) word(now int64, e *route.Endpoint, classes breaker.ClassSet) (open, soft, sure bool) {
	if m.forced(now, e) != route.NotForced {
		return false, false, true // the operator's word is the only one
	}
	x := m.fate(e)
	soft, sure = true, !x.unsure
	var tripped breaker.ClassSet
	for t, s := range x.trips {
		if classes.Has(t.class) {
			open, soft = true, soft && s
			sure = sure && !tripped.Has(t.class) // one of two may have closed
			tripped |= t.class.Set()
		}
	}
	row := m.row(e)
	if row == nil {
		return open, soft, sure
	}
	for _, b := range row.Breakers {
		if !classes.Has(b.Class) || b.Locality != "" && b.Locality != m.local.Locality || b.State != route.FleetOpen && b.State != route.FleetHalfOpen {
			continue
		}
		if now >= row.At+30*sec && now >= b.OpenUntil {
			sure = false
		}
		open, soft = true, soft && b.Soft
	}
	return open, soft, sure
}

func classesOf(q *route.Request) breaker.ClassSet {
	set := breaker.Any.Set()
	if q.Stream {
		set |= breaker.Stream.Set()
	}
	if slices.Contains(q.Needs, "tools") {
		set |= breaker.Tools.Set()
	}
	if q.Input+q.MaxOutput >= 32_000 {
		set |= breaker.Long.Set()
	}
	return set
}

// panics tells whether less than half of the pool's share is eligible; sure is false
// where that is not certain.
func (m *model) panics(now int64, w *route.Workload, q *route.Request, larger int64) (panic, sure bool) {
	var all, well float64
	sure, soft := m.steady(now), false
	for _, t := range w.Tiers {
		for _, name := range t.Endpoints {
			e := m.find(name)
			if m.lasting(now, w, q, e, larger).must != 0 {
				continue
			}
			a := m.passing(now, e)
			open, s, certain := m.word(now, e, classesOf(q))
			sure = sure && certain && a.must == a.may
			all += m.share(now, e)
			soft = soft || open && s && a.must == 0
			if a.must == 0 && !open {
				well += m.share(now, e)
			}
		}
	}
	return well < all/2 && soft, sure
}

// gates is every gate.
func (m *model) gates(now int64, w *route.Workload, q *route.Request, e *route.Endpoint, larger int64) ruling {
	a := m.lasting(now, w, q, e, larger)
	if t, _ := m.tenant(w, q); t.Name != "" {
		full := t.Caps.Concurrency != route.Absent && m.inFlight[t.Name] >= t.Caps.Concurrency
		a.add(route.ReasonTenantCap, full, t.Caps.Requests != route.Absent || t.Caps.Tokens != route.Absent)
		a.add(route.ReasonBudget, false, t.Budget.Has)
	}
	b, c := m.passing(now, e), m.spilling(now, w, e)
	open, soft, sure := m.word(now, e, classesOf(q))
	panic, certain := m.panics(now, w, q, larger)
	ignored := soft && (panic || !certain)
	a.add(route.ReasonBreakerOpen, open && sure && !ignored, open && !(soft && panic && certain && sure) || m.fate(e).unsure)
	return ruling{a.must | b.must | c.must, a.may | b.may | c.may}
}
