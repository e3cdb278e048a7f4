package route

const ample = 0.2 // headroom that is as good as any (decision-core.md, Choosing)

// liked is how much latency_weighted or quota_aware likes a place, as a part of how much it
// likes the best.
func (r *Router) liked(now int64, p *pool, tier int, place int32) float64 {
	var f, most float64
	if p.work.compiled.spec.Strategy == LatencyWeighted {
		f, most = r.quickness(now, p, tier, place)
	} else {
		f, most = room(r.current[place].headroom(now)), room(r.norm(now, p, tier).headroom.most)
	}
	if f >= most {
		return 1
	}
	return f / most
}

// quickness is 1 ÷ pace, and the most of that. Who was not measured counts as the median.
func (r *Router) quickness(now int64, p *pool, tier int, place int32) (f, most float64) {
	paces := &r.norm(now, p, tier).pace
	if paces.least == 0 {
		return 1, 1 // nobody was
	}
	pace := r.current[place].spread.mix()
	if pace < 0 {
		pace = paces.middle
	}
	return 1 / pace, 1 / paces.least
}

func room(headroom float64) float64 { return min(1, headroom/ample) }

// headroom is what is free of an endpoint's quotas, the least of all dimensions, 0 to 1.
func (l *learned) headroom(now int64) float64 {
	least := 1.0
	for _, q := range l.quotas {
		least = min(least, q.common.Headroom(now))
	}
	return least
}
