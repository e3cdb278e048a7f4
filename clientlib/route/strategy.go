package route

const (
	maxDraws = 8         // decision-core.md, Choosing
	nowhere  = int32(-1) // no place
)

// choose finds a place: in the first tier that is open to the call and has one for it,
// else in those that were passed over.
func (r *Router) choose(now int64, d *draws, p *pool, c *Call) int32 {
	for _, open := range [...]bool{true, false} {
		for i := range p.tiers {
			if p.tiers[i].course.takes(now, c.hash) != open {
				continue
			}
			if at := r.balance(now, d, p, i, c); at != nowhere {
				return at
			}
		}
	}
	return nowhere
}

// balance draws inside one tier.
func (r *Router) balance(now int64, d *draws, p *pool, tier int, c *Call) int32 {
	left := maxDraws
	a := r.fetch(now, d, p, tier, c, &left)
	strategy := p.work.compiled.spec.Strategy
	if a == nowhere || strategy == Weighted {
		return r.choice.found(WayDrawn, a)
	}
	b := r.fetch(now, d, p, tier, c, &left)
	if a == b {
		return r.choice.found(WayDrawn, a)
	}
	return r.compare(now, d, p, c, a, b)
}

// compare takes the better of two.
func (r *Router) compare(now int64, d *draws, p *pool, c *Call, a, b int32) int32 {
	h := &r.choice
	h.way, h.drawn = WayDrawn, 2
	sa, sb := r.score(now, p, a, c, &h.trials[0]), r.score(now, p, b, c, &h.trials[1])
	if sa == sb {
		h.tie = d.next()
	}
	h.chosen = better(sa, sb, h.tie)
	return h.trials[h.chosen].place
}

// fetch draws by share until a member passes, else scans from a random offset.
func (r *Router) fetch(now int64, d *draws, p *pool, tier int, c *Call, left *int) int32 {
	t, table := &p.tiers[tier], p.table(tier)
	for ; *left > 0 && table.Len() > 0; *left-- {
		at, flip := d.next(), d.next()
		place := table.Pick(at, flip)
		if reason := r.gate(now, p, place, c); reason != Pass {
			r.choice.refuse(reason)
		} else if r.accepts(now, d, p, t, place) {
			*left--
			return place
		}
	}
	n := t.to - t.from
	if n == 0 {
		return nowhere
	}
	offset := Index(d.next(), n)
	for i := range n {
		place := p.places[t.from+(offset+i)%n]
		if r.states.shares[place] > 0 && r.gate(now, p, place, c) == Pass {
			return place
		}
	}
	return nowhere
}

// accepts takes a member that ramps as often as its factor says, so that tables need not
// follow each step of a ramp. It draws only then.
func (r *Router) accepts(now int64, d *draws, p *pool, t *tier, place int32) bool {
	f := r.ramp(now, place, r.states.bits[place], p.ask.classes)
	return f >= t.top || float64(d.next()) < float64(f/t.top)*(1<<32)
}
