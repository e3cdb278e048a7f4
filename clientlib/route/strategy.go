package route

const maxDraws = 8 // decision-core.md, Choosing

// choose finds a member: in the first tier that is open to the call and has one for it,
// else in those that were passed over. Nil: nothing is left.
func (r *Router) choose(now int64, d *draws, p *pool, c *Call) *member {
	for _, open := range [...]bool{true, false} {
		for i := range p.tiers {
			t := &p.tiers[i]
			if t.course.takes(now, c.hash) != open {
				continue
			}
			if m := r.balance(now, d, p, t, c); m != nil {
				return m
			}
		}
	}
	return nil
}

// balance draws inside one tier.
func (r *Router) balance(now int64, d *draws, p *pool, t *tier, c *Call) *member {
	left := maxDraws
	a := r.fetch(now, d, p, t, c, &left)
	if a == nil || p.work.compiled.spec.Strategy == Weighted {
		return a
	}
	b := r.fetch(now, d, p, t, c, &left)
	if a == b {
		return a
	}
	sa, sb := r.score(now, p, a, c), r.score(now, p, b, c)
	if sb < sa || sb == sa && d.next() >= 1<<31 {
		return b
	}
	return a
}

// fetch draws by share until a member passes, else scans from a random offset.
func (r *Router) fetch(now int64, d *draws, p *pool, t *tier, c *Call, left *int) *member {
	for ; *left > 0 && t.table.Len() > 0; *left-- {
		at, flip := d.next(), d.next()
		m := &p.members[t.from+t.table.Pick(at, flip)]
		if r.gate(now, p, m, c) == Pass {
			*left--
			return m
		}
	}
	n := t.to - t.from
	if n == 0 {
		return nil
	}
	offset := Index(d.next(), n)
	for i := range n {
		m := &p.members[t.from+(offset+i)%n]
		if m.share > 0 && r.gate(now, p, m, c) == Pass {
			return m
		}
	}
	return nil
}
