package route

const (
	maxDraws    = 8         // decision-core.md, Choosing
	maxDeclined = 64        // draws that pass and are not taken, since a factor is small
	nowhere     = int32(-1) // no place
)

// choose finds a place in the first tier that is open to the call and has one for it, else in
// those that were passed over.
func (r *Router) choose(now int64, d *draws, p *pool, c *Call) int32 {
	for _, open := range [...]bool{true, false} {
		for i := range p.tiers {
			if p.tiers[i].course.takes(now, c.hash) != open {
				continue
			}
			var at int32
			if r.chooser == nil && p.work.compiled.spec.Affinity.On == AffinityNone {
				at = r.draw(now, d, p, i, c) // most calls: from here, since each step between costs a hundredth of a pick
			} else {
				at = r.lead(now, d, p, i, c)
			}
			if at != nowhere {
				p.work.spill.count(i > p.first)
				return at
			}
		}
	}
	return nowhere
}

// reach finds a place in bands that are not for the call, when there is no other: that which
// reaches furthest comes first. A band's size is no gate.
func (r *Router) reach(now int64, d *draws, p *pool, c *Call) int32 {
	at, w := nowhere, p.work.compiled
	for k := len(w.bands); at == nowhere && k > 0; k-- {
		if !w.bands[k-1].admits(r.complexity(c)) {
			r.choice.beyond = k
			at = r.choose(now, d, p, c)
		}
	}
	return at
}

// lead chooses inside one tier as something else than the strategy says: a chooser, or the
// call's home, while it has one.
func (r *Router) lead(now int64, d *draws, p *pool, tier int, c *Call) int32 {
	switch {
	case r.chooser != nil:
		return r.asked(now, d, p, tier, c)
	case p.work.compiled.spec.Affinity.Rule == AffinityScore:
		return r.near(now, d, p, tier, c)
	}
	if at := r.home(now, d, p, tier, c); at != nowhere {
		return at
	}
	return r.draw(now, d, p, tier, c)
}

// draw chooses by the strategy.
func (r *Router) draw(now int64, d *draws, p *pool, tier int, c *Call) int32 {
	switch p.work.compiled.spec.Strategy {
	case RoundRobin:
		return r.choice.found(WayDrawn, r.rotate(now, d, p, tier, c))
	case Hash:
		return r.hashed(now, d, p, tier, c)
	case CostTiered:
		return r.banded(now, d, p, tier, c)
	}
	t := r.tries(now, p, tier)
	switch p.work.compiled.spec.Strategy {
	case Weighted:
		return r.choice.found(WayDrawn, r.fetch(now, d, p, c, &t))
	case LatencyWeighted, QuotaAware:
		at := r.choice.found(WayDrawn, r.fetch(now, d, p, c, &t))
		if at != nowhere {
			r.choice.liking = r.liked(now, p, tier, at)
		}
		return at
	case Predictive:
		return r.quickest(now, d, p, c, &t)
	}
	return r.twice(now, d, p, c, &t)
}

// twice takes the better of two draws; equal ones win outright.
func (r *Router) twice(now int64, d *draws, p *pool, c *Call, t *tries) int32 {
	a := r.fetch(now, d, p, c, t)
	if a == nowhere {
		return nowhere
	}
	b := r.fetch(now, d, p, c, t)
	if a == b {
		return r.choice.found(WayDrawn, a)
	}
	return r.compare(now, d, p, c, a, b)
}

// compare takes the better of two.
func (r *Router) compare(now int64, d *draws, p *pool, c *Call, a, b int32) int32 {
	h := &r.choice
	first, second := r.score(now, p, a, c, 0, &h.trials[0]), r.score(now, p, b, c, 0, &h.trials[1])
	if first == second {
		h.tie = d.next()
	}
	h.way, h.drawn, h.chosen = WayDrawn, 2, better(first, second, 0, h.tie)
	return h.trials[h.chosen].place
}

// tries are the draws of one choice: of what, how many more may fail a gate, and how many
// passed and were not taken.
type tries struct {
	tier           int
	band           int // of it, from 1; 0: all of the tier
	table          *Alias
	left, declined int
}

// tries are draws from all of a tier.
func (r *Router) tries(now int64, p *pool, tier int) tries {
	return tries{tier: tier, table: r.table(now, p, tier), left: maxDraws}
}

// places are what may be drawn.
func (t *tries) places(p *pool) []int32 {
	if t.band > 0 {
		return p.held(p.work.compiled.handOf(t.tier, t.band-1))
	}
	return p.members(t.tier)
}

// fetch draws by share until a member passes and is taken. When none was, it is drawn by all
// the members' shares and factors, if those were what stood in the way; else it is the first
// from a random offset.
func (r *Router) fetch(now int64, d *draws, p *pool, c *Call, t *tries) int32 {
	for t.left > 0 && t.declined < maxDeclined && t.table.Len() > 0 {
		at, flip := d.next(), d.next()
		place := t.table.Pick(at, flip)
		if r.unhindered(now, p, place, c) {
			t.left--
			return place
		}
		if reason := r.gate(now, p, place, c); reason != Pass {
			r.refuse(now, place, reason)
			t.left--
		} else if takes(d, r.factor(now, p, t.tier, place)) {
			t.left--
			return place
		} else {
			t.declined++
		}
	}
	if t.declined > 0 {
		if place := r.exactly(now, d, p, c, t); place != nowhere {
			return place
		}
	}
	places := t.places(p)
	if len(places) == 0 {
		return nowhere
	}
	offset := Index(d.next(), len(places))
	for i := range places {
		place := places[(offset+i)%len(places)]
		if r.gate(now, p, place, c) == Pass {
			return place
		}
	}
	return nowhere
}

// exactly draws one of the members that pass every gate, by weight × factor.
func (r *Router) exactly(now int64, d *draws, p *pool, c *Call, t *tries) int32 {
	weight := func(place int32) float64 {
		if r.gate(now, p, place, c) != Pass {
			return 0
		}
		return float64(r.weight(now, p, t.tier, place) * r.factor(now, p, t.tier, place))
	}
	sum, to, places := 0.0, 0.0, t.places(p)
	for _, place := range places {
		sum += weight(place)
	}
	at := float64(float64(d.next())/(1<<32)) * sum
	for _, place := range places {
		if to += weight(place); at < to {
			return place
		}
	}
	return nowhere
}

// takes is true as often as a factor says. It draws only when that is not always.
func takes(d *draws, factor float64) bool {
	return factor >= 1 || float64(d.next()) < float64(factor*(1<<32))
}

// factor is how often a place that was drawn is taken: less while it ramps, so that tables
// need not follow each step, and by what quota_aware sees of its quotas.
func (r *Router) factor(now int64, p *pool, tier int, place int32) float64 {
	f := r.ramped(now, p, tier, place)
	if p.work.compiled.spec.Strategy != QuotaAware {
		return f
	}
	if v := r.unspent(now, p, tier, place); v.Factor < v.Top {
		f = float64(f * (v.Factor / v.Top))
	}
	return f
}

// ramped is a ramp's factor next to the largest in the tier.
func (r *Router) ramped(now int64, p *pool, tier int, place int32) float64 {
	f, top := r.ramp(now, place, r.states.bits[place], p.ask.classes), p.tiers[tier].top
	if f >= top {
		return 1
	}
	return f / top
}
