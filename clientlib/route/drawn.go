package route

const ample = 0.2 // headroom that is as good as any (decision-core.md, Choosing)

// Liking is how much latency_weighted and quota_aware like an endpoint; others do not.
type Liking struct {
	Factor float64 // latency_weighted draws by share × this
	Top    float64 // how much quota_aware likes any: it takes a draw as often as Factor ÷ Top
}

// likes tells whether the strategy draws as it likes.
func (s Strategy) likes() bool { return s == LatencyWeighted || s == QuotaAware }

// favour is what a tier's table by weights was made of.
type favour struct {
	normAt           int64
	overlay, changes uint64
}

// favoured is the table of latency_weighted: by weights as paces were when the norm was
// taken, of those that are eligible. A step of a ramp is no reason to build it anew.
func (r *Router) favoured(now int64, p *pool, tier int) *Alias {
	t, n := &p.tiers[tier], r.norm(now, p, tier)
	f := favour{n.at, n.overlay, p.changes}
	if t.favour == f {
		return &t.thin.table
	}
	t.favour = f
	weights := r.numbers[:0]
	for _, place := range p.members(tier) {
		weight := 0.0
		if r.states.bits[place]&p.mask == 0 {
			weight = r.weight(now, p, tier, place)
		}
		weights = append(weights, weight)
	}
	r.numbers = weights
	t.thin.table.Build(weights, p.members(tier))
	return &t.thin.table
}

// weight is what a place is drawn by: its share, and how quick it is if the strategy asks.
func (r *Router) weight(now int64, p *pool, tier int, place int32) float64 {
	share := float64(r.states.shares[place])
	if p.work.compiled.spec.Strategy == LatencyWeighted {
		share = float64(share * r.quickness(now, p, tier, place))
	}
	return share
}

// quickness is 1 ÷ pace. Who was not measured counts as the median.
func (r *Router) quickness(now int64, p *pool, tier int, place int32) float64 {
	pace := r.current[place].spread.mix()
	if pace < 0 {
		pace = r.norm(now, p, tier).pace
	}
	if pace <= 0 {
		return 1 // nobody was
	}
	return 1 / pace
}

// liked is how the strategy likes a place for the call at hand.
func (r *Router) liked(now int64, p *pool, tier int, place int32) Liking {
	switch p.work.compiled.spec.Strategy {
	case LatencyWeighted:
		return Liking{Factor: r.quickness(now, p, tier, place)}
	case QuotaAware:
		return r.unspent(now, p, tier, place)
	}
	return Liking{}
}

// unspent is how quota_aware likes a place. What a tenant has reserved is in no norm.
func (r *Router) unspent(now int64, p *pool, tier int, place int32) Liking {
	t := r.need.tab
	f, top := quotaFactor(r.current[place].headroom(now, t)), 1.0
	if t == nil || len(t.spec.Reservations) == 0 {
		top = quotaFactor(r.norm(now, p, tier).headroom)
	}
	return Liking{f, max(f, top)}
}

// quotaFactor is how much quota_aware likes an endpoint for its headroom.
func quotaFactor(headroom float64) float64 { return min(1, headroom/ample) }

// headroom is what is free of an endpoint's quotas, the least of all of them, 0 to 1: of what
// is everyone's, or of what a tenant reserved where that is more.
func (l *learned) headroom(now int64, t *tab) float64 {
	least := 1.0
	for _, q := range l.quotas {
		free := q.common.Headroom(now)
		if p := q.part(t); p != nil {
			free = max(free, p.Headroom(now))
		}
		least = min(least, free)
	}
	return least
}
