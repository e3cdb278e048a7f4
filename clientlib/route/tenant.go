package route

import (
	"github.com/pointsman/pointsman/clientlib/route/limit"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

const (
	demands  = 10 * second // a priority that asked so lately has demand
	keptPart = 20          // of a capacity: what the lowest of them may always have
)

// ceilings are how much of a capacity a priority may use while a higher one has demand, in
// percent.
var ceilings = [priorities]int64{limit.All, 90, 75}

// keptOf is a twentieth, rounded up.
func keptOf(n int64) int64 { return (n + keptPart - 1) / keptPart }

// tab is what a tenant has running, and what it spent.
type tab struct {
	spec     *Tenant
	leftAt   int64 // when it left the catalog; 0: it has not
	inFlight int64
	caps     limit.Quota
	purse    purse
}

// need is what the call at hand takes of limits, and what its tenant may have of them.
type need struct {
	use     limit.Use
	answer  int64 // tokens of it, as predicted: fewer than are reserved
	tab     *tab  // nil: no tenant is declared
	percent int64 // of a capacity that its priority may use now
	lowest  bool  // it has a higher priority beside it, and none below
	yields  bool  // it has one below
	plain   bool  // its tenant keeps it from nothing: neither by priority, cap nor budget
	refused Reason
	left    money.Nano // of the budget
	least   money.Nano // the cheapest endpoint's price of this call; −1: not known yet
}

// taken is what an attempt took, and gives back.
type taken struct {
	solo     *quota // the only one
	quotas   []*quota
	from     uint32 // two bits of source for each of them
	priority Priority
	tab      *tab
	foreseen int64 // tokens of the answer
	cost     money.Nano
}

// measure says what the call at hand needs; the tenant's own gates answer for all endpoints.
func (r *Router) measure(now int64, w *work, c *Call) {
	n := &r.need
	n.use.Set(c.request.Input, w.provision(&c.request))
	n.answer = w.predict(&c.request)
	n.tab, n.percent, n.left, n.least = nil, limit.All, 0, -1
	n.lowest, n.yields, n.plain, n.refused = false, false, true, Pass
	if c.tenant != nil {
		r.measureTenant(now, r.tabs[c.tenant.place])
	}
}

// measureTenant says what the tenant's caps, budget and priority leave the call at hand.
func (r *Router) measureTenant(now int64, t *tab) {
	n := &r.need
	n.tab = t
	n.contend(now, t.spec.Priority, &r.askedAt)
	switch {
	case t.spec.Caps.Concurrency != Absent && t.inFlight >= t.spec.Caps.Concurrency,
		t.caps.Allows(now, &n.use, limit.All) != limit.Free:
		n.refused = ReasonTenantCap
	}
	n.plain = n.refused == Pass && n.percent == limit.All && !n.yields && !t.spec.Budget.Has
	if b := &t.spec.Budget; b.Has {
		t.purse.roll(now, r.snapshot.static.wall, b.PerMonth)
		n.left = b.Limit - t.purse.spent.Plus(t.purse.reserved)
	}
}

// demand notes that the call at hand asks.
func (r *Router) demand(now int64) {
	if t := r.need.tab; t != nil {
		r.askedAt[t.spec.Priority] = now
	}
}

// contend finds the ceiling: only what others ask for at the same time is kept from a call.
func (n *need) contend(now int64, own Priority, askedAt *[priorities]int64) {
	for p, at := range askedAt {
		if at == 0 || now-at >= demands {
			continue
		}
		switch {
		case Priority(p) < own:
			n.percent, n.lowest = ceilings[own], true
		case Priority(p) > own:
			n.yields = true
		}
	}
	n.lowest = n.lowest && !n.yields
}

// full tells whether an endpoint's concurrency has no place for the call at hand.
func (n *need) full(now int64, l *learned) bool {
	if l.most == Absent {
		return false
	}
	load, most := l.load(now), l.most
	ceiling := most * n.percent / limit.All
	if n.yields && most > 1 {
		ceiling = min(ceiling, most-max(keptOf(most)-l.below(n.tab.spec.Priority), 0))
	}
	if load < float64(max(ceiling, min(most, 1))) {
		return false
	}
	return !n.lowest || load >= float64(most) || l.byPriority[n.tab.spec.Priority] >= keptOf(most)
}

// below counts the attempts in flight of lower priorities.
func (l *learned) below(p Priority) (sum int64) {
	for _, n := range l.byPriority[p+1:] {
		sum += n
	}
	return sum
}

// price is what the call at hand is expected to cost at an endpoint.
func (n *need) price(e *Endpoint) money.Nano {
	return e.Price.Cost(money.Usage{Input: n.use[limit.Input], Output: n.use[limit.Output]})
}

// charge takes what the call at hand needs, for an attempt. There is no other way to one.
func (r *Router) charge(now int64, s *slot) {
	n, l := &r.need, s.learned
	k := &s.taken
	k.solo, k.quotas, k.tab, k.foreseen, k.from, k.cost = l.solo, nil, n.tab, n.use[limit.Output], 0, 0
	limited := r.states.bits[l.place]&stateLimited != 0
	switch {
	case l.solo == nil:
		k.quotas = l.quotas
		for i, q := range l.quotas {
			k.from |= uint32(q.take(now, n)) << (2 * i)
		}
	case limited && n.percent == limit.All:
		l.solo.common.Take(now, &n.use)
		k.from = uint32(fromCommon)
	case limited:
		k.from = uint32(l.solo.take(now, n))
	}
	t := n.tab
	if t == nil {
		return
	}
	k.priority = t.spec.Priority
	t.inFlight++
	l.byPriority[t.spec.Priority]++
	t.caps.Take(now, &n.use)
	if t.spec.Budget.Has {
		k.cost = n.price(s.endpoint)
		t.purse.reserved = t.purse.reserved.Plus(k.cost)
	}
}

// reserved is what an attempt took of rate limits.
func (s *slot) reserved(u *limit.Use) { u.Set(s.input, s.taken.foreseen) }

// refund settles what an attempt took.
func (r *Router) refund(now int64, s *slot, o *Outcome) {
	var reserved, used limit.Use
	s.reserved(&reserved)
	s.used(o, &used)
	k := &s.taken
	if q := k.solo; q != nil && source(k.from) == fromCommon {
		q.common.Settle(now, s.started, &reserved, &used)
		if o.Kind == Served {
			q.common.Served()
		}
	} else {
		r.refundAll(now, s, o, &reserved, &used)
	}
	t := k.tab
	if t == nil {
		return
	}
	t.inFlight--
	s.learned.byPriority[k.priority]--
	t.caps.Settle(now, s.started, &reserved, &used)
	if t.purse.settle(s, o, &used, &t.spec.Budget) {
		r.event(Event{Kind: EventBudget, At: now, Name: t.spec.Name, Until: t.purse.until})
	}
}

// refundAll settles with whatever quotas there are.
func (r *Router) refundAll(now int64, s *slot, o *Outcome, reserved, used *limit.Use) {
	k := &s.taken
	for i, q := range k.all() {
		if from := source(k.from >> (2 * i) & 3); from != nothing {
			q.each(from, k.tab, func(l *limit.Quota) { l.Settle(now, s.started, reserved, used) })
		}
		if o.Kind == Served {
			q.common.Served()
		}
	}
}

// all are the quotas.
func (k *taken) all() []*quota {
	if k.solo != nil {
		return []*quota{k.solo}
	}
	return k.quotas
}

// used is what an attempt took of rate limits, in the end. What is not known is as it was
// reserved, if the provider may have had it.
func (s *slot) used(o *Outcome, u *limit.Use) {
	switch {
	case o.Kind == Unsent:
	case o.HasUsage:
		u.Set(s.read(o), s.answerTokens(o))
	case s.firstAt > 0 || o.Kind == Served || o.Kind == Invalid:
		s.reserved(u)
	case o.Kind == Cancelled || o.Kind == TimedOut || o.Kind == Abandoned:
		u.Set(s.input, 0)
	default:
		u.Set(0, 0) // it refused, and counted the request
	}
}

// tenantAt is when a tenant's own gate may give another answer.
func (n *need) tenantAt(now int64, reason Reason) int64 {
	switch {
	case reason == ReasonBudget:
		return n.tab.purse.until
	case n.tab.spec.Caps.Concurrency != Absent && n.tab.inFlight >= n.tab.spec.Caps.Concurrency:
		return now + soon
	}
	return n.tab.caps.Until(now, &n.use, limit.All)
}

// seatTenants takes a catalog's tenants; what they spent and have running stays, for a while
// even of those that left.
func (r *Router) seatTenants(now int64, s *static) {
	for _, t := range r.tabs {
		t.leftAt = now
	}
	r.tabs = make([]*tab, 0, len(s.catalog.Tenants))
	for i := range s.catalog.Tenants {
		spec := s.catalog.Tenants[i]
		t := r.known[spec.Name]
		if t == nil {
			t = &tab{}
			r.known[spec.Name] = t
		}
		t.spec, t.leftAt = &spec, 0
		t.caps.Set(now, spec.Caps.limits())
		r.tabs = append(r.tabs, t)
	}
	for name, t := range r.known {
		if t.leftAt > 0 && t.inFlight == 0 && now-t.leftAt >= forgotten && now >= t.purse.until {
			delete(r.known, name)
		}
	}
}

// limits are the caps that are rates.
func (c Caps) limits() limit.Limits {
	l := limit.None()
	l.Of[limit.Requests], l.Of[limit.Tokens] = c.Requests, c.Tokens
	return l
}

// ranked tells whether tenants have different priorities.
func ranked(tabs []*tab) bool {
	for _, t := range tabs {
		if t.spec.Priority != tabs[0].spec.Priority {
			return true
		}
	}
	return false
}
