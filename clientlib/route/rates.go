package route

import "github.com/pointsman/pointsman/clientlib/route/window"

// rates are, by place, the tokens a minute that an endpoint's quotas allow; 0: they say nothing.
func (s *static) rateAll() {
	quotas := make(map[string]int64, len(s.catalog.Quotas))
	for i := range s.catalog.Quotas {
		quotas[s.catalog.Quotas[i].Name] = s.catalog.Quotas[i].rate()
	}
	s.rates = make([]int64, len(s.facts))
	for i, f := range s.facts {
		for _, name := range f.endpoint.Quotas {
			if rate := quotas[name]; rate > 0 && (s.rates[i] == 0 || rate < s.rates[i]) {
				s.rates[i] = rate
			}
		}
	}
}

// rate is the tokens a minute that a quota allows, in and out; 0: it does not say.
func (q *Quota) rate() int64 {
	switch {
	case q.Tokens != Absent:
		return q.Tokens
	case q.Input != Absent && q.Output != Absent:
		return q.Input + q.Output
	}
	return 0
}

// rate is the tokens a minute that a place may have: its own, else the pool's mean, else any
// that is the same for all.
func (r *Router) rate(p *pool, place int32) float64 {
	if rate := r.snapshot.static.rates[place]; rate > 0 {
		return float64(rate)
	}
	o := p.roster
	if o.ratedFor != r.overlay {
		o.ratedFor, o.rate = r.overlay, r.meanRate(o.places)
	}
	return o.rate
}

// meanRate is that of some places with a rate, but those that the fleet holds open; 1 without any.
func (r *Router) meanRate(places []int32) float64 {
	var sum, n int64
	for _, place := range places {
		if rate := r.snapshot.static.rates[place]; rate > 0 && r.current[place].heldBy(allClasses) == 0 {
			sum += rate
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return float64(sum) / float64(n)
}

// tokens is an endpoint's outstanding tokens over the fleet, as far as they are known.
func (l *learned) tokens(now int64) float64 {
	if l.elsewhere == 0 || now >= l.heardAt+silence {
		return float64(l.outstanding)
	}
	return float64(l.outstanding) + float64(window.Decay(now-l.heardAt, loadHalf)*l.elsewhere)
}
