package route

import "github.com/pointsman/pointsman/clientlib/route/window"

const fewMore = 4 // requests by which a home must exceed the median before it is left

// key is what a call shares with others of one home; without one, no home is its own.
func (c *Call) key(w *Workload) (key uint32, ok bool) {
	q, on := &c.request, ""
	switch w.Affinity.On {
	case AffinityPrefix:
		on = q.Prefix
	case AffinitySession:
		on = q.Session
	case AffinityNone: // strategy hash without affinity
		on = q.Session
		if on == "" {
			on = q.Prefix
		}
	}
	if on == "" && w.Affinity.On != AffinityTenant {
		return 0, false
	}
	tenant := q.Tenant
	if tenant == "" {
		tenant = defaultTenant
	}
	return AffinityKey(tenant, w.Name, on), true
}

// home is the endpoint that has seen the call's key before: the first of the key's homes that
// takes the call, unless it does much worse than others.
func (r *Router) home(now int64, d *draws, p *pool, tier int, c *Call) int32 {
	w := p.work.compiled
	if w.spec.Strategy == Hash || w.tables[tier].Len() == 0 {
		return nowhere
	}
	key, ok := c.key(w.spec)
	if !ok {
		return nowhere
	}
	for k := range uint32(maxDraws) {
		if place := r.homeOf(now, d, p, tier, c, Rehash(key, k)); place != nowhere {
			if r.strained(now, p, tier, place) {
				break
			}
			return r.choice.found(WayHome, place)
		}
	}
	return nowhere
}

// strained is rule median: much slower than the tier's median, or much more loaded for its
// share.
func (r *Router) strained(now int64, p *pool, tier int, place int32) bool {
	n, slack := r.norm(now, p, tier), p.work.compiled.spec.Affinity.Slack
	usual := n.slowdown
	if usual == 0 {
		usual = 1 // nobody has measured
	}
	if r.slowdown(now, p, place, usual) > float64(slack*usual) {
		return true
	}
	load, part := r.current[place].load(now), float64(n.perShare*float64(r.states.shares[place]))
	return load > float64(slack*part) && load >= part+fewMore
}

// slowdown is how many times longer than its input explains a first token takes at a place:
// as measured, the less of it the older it is; and more when one is late already.
func (r *Router) slowdown(now int64, p *pool, place int32, usual float64) float64 {
	s := usual
	if v := r.latency(p.work, place); v.ttft.n > 0 {
		s += float64(window.Decay(now-v.ttft.at, latencyHalf) * (v.slowdown - usual))
	}
	if l := r.current[place]; l.oldest >= 0 {
		s = max(s, float64(now-l.since)/float64(l.expected))
	}
	return s
}
