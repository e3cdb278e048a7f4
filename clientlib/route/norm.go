package route

import "slices"

const normLast = 250_000 // µs it is used for

// norm is what is usual among the members of a tier that are eligible for requests of any
// class: taken four times a second and with each snapshot, and only what the workload's
// strategy and affinity ask for. Medians are the lower ones; 0 when nobody answered.
type norm struct {
	at       int64
	overlay  uint64
	own      int     // this process's attempts in flight, then
	load     float64 // all requests in flight
	perShare float64 // those of one by its share, median
	slowdown float64 // median
	pace     float64 // median
	headroom float64 // the most
}

// inAir counts this process's attempts in flight.
func (r *Router) inAir() int { return len(r.slots) - len(r.free) }

func (r *Router) norm(now int64, p *pool, tier int) *norm {
	n, w := &p.norms[tier], p.work.compiled.spec
	if n.overlay == r.overlay && now-n.at < normLast {
		return n
	}
	*n = norm{at: now, overlay: r.overlay, own: r.inAir()}
	load := func(place int32) float64 { return r.current[place].load(now) }
	switch w.Strategy {
	case Hash:
		for _, v := range r.survey(p, tier, load) {
			n.load += v
		}
		return n
	case LatencyWeighted:
		n.pace = median(r.survey(p, tier, func(place int32) float64 { return r.current[place].spread.mix() }))
	case QuotaAware:
		for _, v := range r.survey(p, tier, func(place int32) float64 { return r.current[place].headroom(now, nil) }) {
			n.headroom = max(n.headroom, v)
		}
	}
	if w.Affinity.On != AffinityNone && w.Affinity.Rule == AffinityMedian {
		n.perShare = median(r.survey(p, tier, func(place int32) float64 { return load(place) / float64(r.states.shares[place]) }))
		n.slowdown = median(r.survey(p, tier, func(place int32) float64 { return r.latency(p.work, place).known() }))
	}
	return n
}

// survey asks every member that is eligible; an answer below 0 is none. It gives all of them
// in the order of names, until the next survey.
func (r *Router) survey(p *pool, tier int, ask func(place int32) float64) []float64 {
	all, refused := r.numbers[:0], refusing(anyClass, false)
	for _, place := range p.members(tier) {
		if r.states.bits[place]&refused != 0 {
			continue
		}
		if v := ask(place); v >= 0 {
			all = append(all, v)
		}
	}
	r.numbers = all
	return all
}

// median is the lower one, 0 of nothing. It sorts what it is given.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
