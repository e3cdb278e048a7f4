package route

import (
	"github.com/pointsman/pointsman/clientlib/route/limit"
)

const longAgo = -forever / 2

// quota is one limit of an account as this process spends it, shared by the endpoints that
// name it. An endpoint's own has no limits and only cools down.
type quota struct {
	common limit.Quota  // what is not reserved for a tenant
	kept   *limit.Quota // a part of it that the lowest priority may always have
	parts  []part       // what is reserved, by tenant
	name   string
	spec   Quota
	seen   uint64 // by which overlay it was last in use
	aside  *aside // while the catalog does not have it
}

// aside is what was spent of a quota.
type aside struct {
	common limit.Quota
	parts  []part
}

// part is what is reserved of a quota for one tenant.
type part struct {
	of *tab
	limit.Quota
}

// source is what a request's use is taken of. Its values are kept with attempts.
type source uint8

const (
	nothing source = iota
	fromCommon
	fromKept // and the common one, which it may bring into debt
	fromPart
)

// source is what a request may take its use of, or why nothing.
func (q *quota) source(now int64, n *need) (source, limit.Answer) {
	if len(q.parts) > 0 && !q.common.Cooling(now) {
		if p := q.part(n.tab); p != nil && p.Allows(now, &n.use, limit.All) == limit.Free {
			return fromPart, limit.Free
		}
	}
	a := q.common.Allows(now, &n.use, n.percent)
	switch {
	case a == limit.Free:
		return fromCommon, a
	case a != limit.Cooling && n.lowest && q.kept != nil && q.kept.Allows(now, &n.use, limit.All) == limit.Free:
		return fromKept, limit.Free
	}
	return nothing, a
}

// part is what is reserved for a tenant, or nil.
func (q *quota) part(t *tab) *limit.Quota {
	for i := range q.parts {
		if q.parts[i].of == t {
			return &q.parts[i].Quota
		}
	}
	return nil
}

// each calls do for every bucket that a source stands for.
func (q *quota) each(from source, t *tab, do func(*limit.Quota)) {
	switch from {
	case fromPart:
		if p := q.part(t); p != nil {
			do(p)
		}
		return
	case fromKept:
		if q.kept != nil {
			do(q.kept)
		}
	}
	do(&q.common)
}

// take takes what source found.
func (q *quota) take(now int64, n *need) source {
	from, _ := q.source(now, n)
	q.each(from, n.tab, func(l *limit.Quota) { l.Take(now, &n.use) })
	if from == fromPart {
		q.common.Pace(now)
	}
	return from
}

// until is when a request may go, as things stand.
func (q *quota) until(now int64, n *need) int64 {
	at := q.common.Until(now, &n.use, n.percent)
	if p := q.part(n.tab); p != nil {
		at = min(at, max(q.common.OpensAt(now), p.Until(now, &n.use, limit.All)))
	}
	if n.lowest && q.kept != nil {
		at = min(at, max(q.common.OpensAt(now), q.kept.Until(now, &n.use, limit.All)))
	}
	return at
}

// spent tells whether a quota refuses by itself.
func (q *quota) spent(now int64, n *need) bool {
	from, _ := q.source(now, n)
	return from == nothing
}

var quotaReasons = [...]Reason{Pass, ReasonQuotaCooldown, ReasonQuotaRequests, ReasonQuotaTokens} // by limit.Answer

// room tells whether an endpoint's quotas have room for the call at hand.
func (r *Router) room(now int64, l *learned) Reason {
	for _, q := range l.quotas {
		if from, why := q.source(now, &r.need); from == nothing {
			return quotaReasons[why]
		}
	}
	return Pass
}

// roomAt is when they may, as things stand.
func (r *Router) roomAt(now int64, l *learned) int64 {
	at := now
	for _, q := range l.quotas {
		at = max(at, q.until(now, &r.need))
	}
	return at
}

// cooledUntil is when the last cooldown of an endpoint's quotas ends.
func (l *learned) cooledUntil() (at int64) {
	for _, q := range l.quotas {
		at = max(at, q.common.CooledUntil())
	}
	return at
}

// Headers takes what the response to an attempt said of its provider's limits; when it may
// have been true is known here. False: the attempt has ended.
func (r *Router) Headers(now int64, a Attempt, h limit.Headers) bool {
	s := r.at(now, a)
	if s == nil {
		return false
	}
	h.At = s.started
	quotas := s.taken.all()
	if len(quotas) > 1 { // which of them it speaks of is not known
		h.At = longAgo
	}
	draw := r.chance.draw()
	for _, q := range quotas {
		if q.hear(now, draw, h) {
			r.cooling(now, s, q)
		}
	}
	return true
}

// hear takes it and tells whether a cooldown began.
func (q *quota) hear(now int64, draw uint32, h limit.Headers) (began bool) {
	if len(q.parts) > 0 { // whose remains is not known
		h.At = longAgo
	}
	for i := range q.parts {
		q.parts[i].Headers(now, draw, &h)
	}
	return q.common.Headers(now, draw, &h)
}

// cool keeps out the quotas that a refusal was for, as far as they tell: those that are
// spent, or the only one. Else it is the endpoint alone.
func (r *Router) cool(now int64, s *slot, after int64) {
	cooled := false
	n := need{tab: s.taken.tab, percent: limit.All}
	s.reserved(&n.use)
	for _, q := range s.taken.all() {
		if s.taken.solo != nil || len(s.taken.quotas) == 1 || q.name != "" && q.spent(now, &n) {
			r.coolOne(now, s, q, after)
			cooled = true
		}
	}
	if !cooled {
		r.coolOne(now, s, s.learned.own, after)
	}
	s.learned.strain.refuse(now)
	r.touch(now, s.learned)
}

func (r *Router) coolOne(now int64, s *slot, q *quota, after int64) {
	if q.common.Cool(now, r.chance.draw(), after) {
		r.cooling(now, s, q)
	}
}

func (r *Router) cooling(now int64, s *slot, q *quota) {
	r.pauses(s.learned, q)
	r.event(Event{Kind: EventCooldown, At: now, Endpoint: s.endpoint.Name, Name: q.name, Until: q.common.CooledUntil()})
}
