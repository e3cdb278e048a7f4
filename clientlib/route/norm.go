package route

import "slices"

const normLast = 250_000 // µs it is used for

// norm is what is usual among the members of a tier that are eligible for requests of any
// class: taken four times a second and with each snapshot, and only what the workload's
// strategy and affinity ask for.
type norm struct {
	at       int64
	overlay  uint64
	own      int    // this process's attempts in flight, then
	load     survey // requests in flight
	perShare survey // those by share
	slowdown survey
	pace     survey
	headroom survey
}

// survey sums up what members answered; all is 0 when nobody did.
type survey struct{ sum, least, middle, most float64 }

// inAir counts this process's attempts in flight.
func (r *Router) inAir() int { return len(r.slots) - len(r.free) }

func (r *Router) norm(now int64, p *pool, tier int) *norm {
	n := &p.norms[tier]
	if n.overlay == r.overlay && now-n.at < normLast {
		return n
	}
	*n = norm{at: now, overlay: r.overlay, own: r.inAir()}
	load := func(place int32) float64 { return r.current[place].load(now) }
	switch p.work.compiled.spec.Strategy {
	case Hash:
		n.load = r.survey(p, tier, load)
	case LatencyWeighted:
		n.pace = r.survey(p, tier, func(place int32) float64 { return r.current[place].spread.mix() })
	case QuotaAware:
		n.headroom = r.survey(p, tier, func(place int32) float64 { return r.current[place].headroom(now) })
	}
	if p.work.compiled.spec.Affinity.On != AffinityNone {
		n.perShare = r.survey(p, tier, func(place int32) float64 { return load(place) / float64(r.states.shares[place]) })
		n.slowdown = r.survey(p, tier, func(place int32) float64 { return r.latency(p.work, place).known() })
	}
	return n
}

// survey asks every member with a share that is eligible. An answer below 0 is none, and the
// middle the lower median.
func (r *Router) survey(p *pool, tier int, ask func(place int32) float64) (s survey) {
	all, refused := r.numbers[:0], refusing(anyClass, false)
	for _, place := range p.members(tier) {
		if r.states.shares[place] == 0 || r.states.bits[place]&refused != 0 {
			continue
		}
		if v := ask(place); v >= 0 {
			all = append(all, v)
			s.sum += v
		}
	}
	r.numbers = all
	if n := len(all); n > 0 {
		slices.Sort(all)
		s.least, s.middle, s.most = all[0], all[(n-1)/2], all[n-1]
	}
	return s
}
