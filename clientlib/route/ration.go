package route

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route/limit"
)

// ration brings the quotas to what a catalog says. What was spent stays spent.
func (r *Router) ration(now int64, s *static) {
	for _, q := range r.quotas {
		q.spec = Quota{}
	}
	for i := range s.catalog.Quotas {
		spec := &s.catalog.Quotas[i]
		r.quota(spec.Name).spec = *spec
	}
	for _, q := range r.quotas {
		q.divide(now, r.tabs)
	}
	for _, l := range r.learned {
		l.solo = l.alone()
	}
}

// divide parts a quota into what tenants reserve and what is left. One that the catalog does
// not have limits nothing; what was spent of it is put aside until it is back.
func (q *quota) divide(now int64, tabs []*tab) {
	l := q.spec.limits()
	was := q.parts
	switch gone := q.spec.Name == ""; {
	case gone && q.aside == nil:
		q.aside = &aside{q.common, q.parts}
	case !gone && q.aside != nil:
		q.common.Resume(&q.aside.common)
		was, q.aside = q.aside.parts, nil
	}
	q.parts = nil
	for _, t := range tabs {
		for i := range t.spec.Reservations {
			if v := &t.spec.Reservations[i]; q.spec.Name != "" && v.Quota == q.name {
				q.parts = append(q.parts, q.reserve(now, v, &l, was, t))
			}
		}
	}
	q.common.Set(now, l)
	q.keep(now, l, ranked(tabs))
}

// keep puts a part of what is left aside when there are tenants of several priorities.
func (q *quota) keep(now int64, l limit.Limits, several bool) {
	if !several {
		q.kept = nil
		return
	}
	if q.kept == nil {
		q.kept = &limit.Quota{}
	}
	for d, n := range l.Of {
		if n > 0 {
			l.Of[d] = keptOf(n)
		}
	}
	l.Fixed = false
	q.kept.Set(now, l)
}

// reserve takes a tenant's part out of what is left.
func (q *quota) reserve(now int64, v *Reservation, left *limit.Limits, was []part, t *tab) part {
	own := limit.None()
	own.Fixed, own.Hold = left.Fixed, left.Hold
	for d, n := range [...]int64{limit.Requests: v.Requests, limit.Tokens: v.Tokens} {
		if n != Absent && left.Of[d] != Absent {
			own.Of[d] = min(n, left.Of[d])
			left.Of[d] -= own.Of[d]
		}
	}
	p := part{of: t}
	if i := slices.IndexFunc(was, func(p part) bool { return p.of == t }); i >= 0 {
		p = was[i]
	}
	p.Set(now, own)
	return p
}

// limits are a quota's; those of one that is not declared are none.
func (s *Quota) limits() limit.Limits {
	l := limit.None()
	if s.Name != "" {
		l = limit.Limits{Of: [limit.Dimensions]int64{s.Requests, s.Tokens, s.Input, s.Output, s.Daily}, Fixed: s.Fixed, Hold: s.Hold}
	}
	return l
}

// quota finds or begins one by name.
func (r *Router) quota(name string) *quota {
	q := r.quotas[name]
	if q == nil {
		q = &quota{name: name}
		r.quotas[name] = q
	}
	return q
}

// shares joins an endpoint to its quotas, and to one of its own unless it is known which one
// a refusal is for.
func (r *Router) shares(l *learned) {
	l.quotas = nil
	for _, name := range l.facts.endpoint.Quotas {
		l.quotas = append(l.quotas, r.quota(name))
	}
	if l.own == nil {
		l.own = &quota{}
	}
	if len(l.quotas) != 1 {
		l.quotas = append(l.quotas, l.own)
	}
	l.solo = l.alone()
}

// alone is the only quota of an endpoint, when nothing of it is reserved.
func (l *learned) alone() *quota {
	if len(l.quotas) == 1 && len(l.quotas[0].parts) == 0 {
		return l.quotas[0]
	}
	return nil
}

// Lease is this process's part of one dimension of a quota, or of a tenant's caps.
type Lease struct {
	Quota     string // or
	Tenant    string
	Dimension limit.Dimension
	limit.Lease
}

// Lease takes one. It holds until its end; when nobody renews it, the safe share is left.
func (r *Router) Lease(now int64, v Lease) {
	if t := r.known[v.Tenant]; t != nil {
		t.caps.Lease(now, v.Dimension, v.Lease)
		return
	}
	if q := r.quotas[v.Quota]; q != nil && v.Dimension < limit.Dimensions {
		q.lease(now, v)
	}
}

// lease divides one as the quota is divided.
func (q *quota) lease(now int64, v Lease) {
	whole := q.spec.limits().Of[v.Dimension]
	if whole <= 0 {
		return
	}
	rest := v.Lease
	of := func(part int64) limit.Lease {
		own := v.Lease
		own.Rate, own.Safe = limit.Share(own.Rate, whole, part), limit.Share(own.Safe, whole, part)
		return own
	}
	for i := range q.parts {
		if p := &q.parts[i]; p.Declared(v.Dimension) != Absent {
			own := of(p.Declared(v.Dimension))
			rest.Rate, rest.Safe = rest.Rate-own.Rate, rest.Safe-own.Safe
			p.Lease(now, v.Dimension, own)
		}
	}
	q.common.Lease(now, v.Dimension, rest)
	if q.kept != nil {
		q.kept.Lease(now, v.Dimension, of(q.kept.Declared(v.Dimension)))
	}
}

// CutOff says that this process lost its parent, or found one: what becomes of its leases.
func (r *Router) CutOff(now int64, cut bool) {
	for _, q := range r.quotas {
		q.common.Cut(now, cut)
		for i := range q.parts {
			q.parts[i].Cut(now, cut)
		}
		if q.kept != nil {
			q.kept.Cut(now, cut)
		}
	}
	for _, t := range r.tabs {
		t.caps.Cut(now, cut)
	}
}

// QuotaState is one dimension of a quota as this process sees it.
type QuotaState struct {
	Name        string
	Tenant      string // whose reservation it is; empty: what is left for all
	Dimension   limit.Dimension
	Limit       int64 // in a window
	Remaining   int64 // now
	Reset       int64 // µs until it is full again
	CooledUntil int64 // µs; past: it is not cooling down
}

// Quotas appends the state of every quota that has limits, by name, to buf.
func (r *Router) Quotas(now int64, buf []QuotaState) []QuotaState {
	from := len(buf)
	for _, q := range r.quotas {
		buf = q.states(now, "", &q.common, buf)
		for i := range q.parts {
			buf = q.states(now, q.parts[i].of.spec.Name, &q.parts[i].Quota, buf)
		}
	}
	slices.SortStableFunc(buf[from:], func(a, b QuotaState) int { return strings.Compare(a.Name, b.Name) })
	return buf
}

func (q *quota) states(now int64, tenant string, l *limit.Quota, buf []QuotaState) []QuotaState {
	for d := range limit.Dimensions {
		if n := l.Limit(now, d); n != Absent {
			buf = append(buf, QuotaState{q.name, tenant, d, n, l.Remaining(now, d), l.Reset(now, d), q.common.CooledUntil()})
		}
	}
	return buf
}
