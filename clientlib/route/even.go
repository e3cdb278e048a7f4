package route

import "github.com/pointsman/pointsman/clientlib/route/window"

// sameLoad is how far an endpoint's part of the fleet's load may be from what it would be if
// all were loaded alike, and still counts as that. From twice as far on it counts as it is.
const sameLoad = 0.25

// loadIn is an endpoint's load as the pool sees it.
func (r *Router) loadIn(now int64, p *pool, place int32) float64 {
	l := r.current[place]
	if now >= l.heardAt+silence {
		return float64(l.inFlight)
	}
	return float64(l.inFlight) + float64(window.Decay(now-l.heardAt, loadHalf)*p.others[place])
}

// weighOthers takes what the fleet says that others have in flight, once for each overlay. It
// is a second or two old and the same for everybody: if everybody followed each difference,
// all would go where there was less, and then all elsewhere. So a small one is none, and what
// this process sees itself decides. Nor is it a reason to go where there is little, that the
// endpoint is only coming back.
func (r *Router) weighOthers(p *pool) {
	o := p.roster
	o.othersFor = r.overlay
	if len(o.others) != len(r.current) {
		o.others = make([]float64, len(r.current))
	}
	mean := r.meanOthers(o.places)
	for _, place := range o.places {
		l := r.current[place]
		alike := float64(mean * float64(r.states.shares[place]))
		if l.others < alike && l.word != nil && l.word.ramping != 0 {
			o.others[place] = alike
		} else {
			o.others[place] = notable(l.others, alike)
		}
	}
}

// notable is a load by how far it is from what it would be if all were loaded alike.
func notable(others, alike float64) float64 {
	band := float64(sameLoad * alike)
	switch off := others - alike; {
	case off >= 2*band || off <= -2*band:
		return others
	case off > band:
		return alike + float64(2*(off-band))
	case off < -band:
		return alike + float64(2*(off+band))
	}
	return alike
}

// meanOthers is what others have in flight, by share, at those that are eligible for requests
// of any class.
func (r *Router) meanOthers(places []int32) float64 {
	var sum float64
	var shares int64
	refused := refusing(anyClass, false)
	for _, place := range places {
		if r.states.bits[place]&refused == 0 {
			sum += r.current[place].others
			shares += r.states.shares[place]
		}
	}
	if shares == 0 {
		return 0
	}
	return sum / float64(shares)
}
