package route

import "slices"

const mostTold = 256 // sheds in a report, and quotas: the others wait for the next

// refused waits to be reported: what keeps calls out, or did.
type refused struct {
	sheds  []*work  // with calls that were refused
	paused []paused // that were told to pause; those that go on are dropped with a report
}

// paused is a quota; an endpoint's own is known by the endpoint.
type paused struct {
	quota *quota
	of    *learned
}

// Refused counts a call that ended with a ShedError, for the next report. Next does not: a
// call that it has nowhere to send may wait, and come again.
func (r *Router) Refused(workload string, k ShedKind) {
	w := r.works[workload]
	if w == nil || k >= shedKinds {
		return
	}
	if w.sheds == [shedKinds]uint64{} {
		r.refused.sheds = append(r.refused.sheds, w)
	}
	w.sheds[k]++
}

// drainSheds tells what was refused since the last report.
func (r *Router) drainSheds() (out []Shed) {
	n := min(len(r.refused.sheds), mostTold/int(shedKinds))
	for _, w := range r.refused.sheds[:n] {
		for k, count := range w.sheds {
			if count > 0 {
				out = append(out, Shed{w.compiled.spec.Name, ShedKind(k), count})
			}
		}
		w.sheds = [shedKinds]uint64{}
	}
	r.refused.sheds = slices.Delete(r.refused.sheds, 0, n)
	return out
}

// pauses notes that a provider has a quota pause.
func (r *Router) pauses(l *learned, q *quota) {
	if !slices.ContainsFunc(r.refused.paused, func(p paused) bool { return p.quota == q }) {
		r.refused.paused = append(r.refused.paused, paused{q, l})
	}
}

// spentQuotas are all that pause.
func (r *Router) spentQuotas(now int64) (out []SpentQuota) {
	r.refused.paused = slices.DeleteFunc(r.refused.paused, func(p paused) bool {
		return p.quota.common.CooledUntil() <= now || p.quota.name == "" && p.of.leftAt > 0
	})
	for _, p := range r.refused.paused[:min(len(r.refused.paused), mostTold)] {
		name := p.quota.name
		if name == "" {
			name = p.of.name
		}
		out = append(out, SpentQuota{name, p.quota.common.CooledUntil()})
	}
	return out
}
