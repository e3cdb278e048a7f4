package route

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

const (
	maxPermits = 64
	maxResults = 256
	maxLooks   = 8      // at suspects, in one pick
	yields     = second // a probe waits for a call that has a second attempt
)

// probe is how an attempt may enter an endpoint that is open.
type probe struct {
	permit *Permit // the fleet's; nil: none, or judged
	round  uint64  // of this process's own half-open; 0: it is none
}

func (p probe) on() bool { return p.permit != nil || p.round != 0 }

// probe is what the attempt enters by, as long as that is not judged.
func (s *slot) probe() probe {
	if s.local {
		return probe{s.permit, s.round}
	}
	return probe{permit: s.permit}
}

// Grant takes a probe permit. The next compatible first attempt uses it; unused it returns
// at its UseBy.
func (r *Router) Grant(now int64, p Permit) {
	l := r.learned[key{p.Endpoint, p.Identity}]
	if l == nil || l.leftAt > 0 || now >= p.UseBy || len(r.permits) >= maxPermits || p.Class >= breaker.Classes {
		r.result(p, ProbeUnused)
		return
	}
	r.permits = append(r.permits, p)
}

// probing tells whether direct may find anything.
func (w *watched) probing() bool { return len(w.permits)+len(w.suspects) > 0 }

// direct finds an open endpoint that is due a probe and lets this call be the one: a first
// attempt with another one left and time enough, or any when nothing else is left.
func (r *Router) direct(now int64, w *work, p *pool, c *Call, last bool) (int32, probe) {
	if !last && !r.spare(now, w, c) {
		return nowhere, probe{}
	}
	for i, permit := range r.permits {
		if !last && now < permit.UseBy-yields && c.single(w.compiled.spec) {
			continue
		}
		l := r.learned[key{permit.Endpoint, permit.Identity}]
		if r.probable(now, p, l, c) && l.takes(permit, p.ask.classes) && (last || r.timeFor(now, w, p, l, c)) {
			r.permits = slices.Delete(r.permits, i, i+1)
			r.result(permit, ProbeStarted)
			kept := permit
			return l.place, probe{permit: &kept}
		}
	}
	return r.suspected(now, w, p, c, last)
}

// outdated tells whether the fleet has judged again since it gave the permit.
func (l *learned) outdated(p Permit) bool {
	return l == nil || l.word != nil && l.word.round[p.Class] > p.Round
}

// probeDue tells whether a call that can spare an attempt would be sent to an open endpoint.
func (r *Router) probeDue(now int64, p *pool, l *learned, c *Call) bool {
	if !r.probable(now, p, l, c) {
		return false
	}
	return now >= l.probeFrom && l.breaker.ProbeDue(now, p.ask.classes) || slices.ContainsFunc(r.permits, func(v Permit) bool {
		return r.learned[key{v.Endpoint, v.Identity}] == l && l.takes(v, p.ask.classes)
	})
}

// takes tells whether a permit still lets requests of these classes probe.
func (l *learned) takes(v Permit, classes breaker.ClassSet) bool {
	return !l.outdated(v) && classes&(1<<v.Class) != 0
}

// suspected finds the next endpoint whose own half-open wants a probe.
func (r *Router) suspected(now int64, w *work, p *pool, c *Call, last bool) (int32, probe) {
	n := len(r.suspects)
	looks := n
	if !last {
		looks = min(n, maxLooks)
	}
	for range looks {
		r.suspectAt = (r.suspectAt + 1) % n
		l := r.suspects[r.suspectAt]
		if refuses, _ := l.breaker.Refuses(p.ask.classes); !refuses || now < l.probeFrom {
			continue
		}
		if !last && now < l.breaker.Until(p.ask.classes)+yields && c.single(w.compiled.spec) {
			continue
		}
		if !r.probable(now, p, l, c) || !last && !r.timeFor(now, w, p, l, c) {
			continue
		}
		if round, ok := l.breaker.Probe(now, p.ask.classes); ok {
			return l.place, probe{round: round}
		}
	}
	return nowhere, probe{}
}

// spare tells whether a bad probe would cost the call nothing but time: another attempt is
// left. A workload that never has another one probes all the same, else nobody would.
func (r *Router) spare(now int64, w *work, c *Call) bool {
	if c.attempts > 0 {
		return false
	}
	return w.compiled.spec.Attempts.Max == 1 || r.affords(now, w, c)
}

// single calls have one attempt where others of the workload have more: they probe only
// what no other call has taken for a while.
func (c *Call) single(w *Workload) bool { return c.most(w) == 1 && w.Attempts.Max > 1 }

// timeFor tells whether a bad probe leaves the call time for another attempt.
func (r *Router) timeFor(now int64, w *work, p *pool, l *learned, c *Call) bool {
	left := c.deadline(w.compiled.spec) - now
	wait := left // no limit: the probe may take it all
	if first := w.compiled.spec.Attempts.FirstToken; first > 0 {
		wait = first
	}
	if e := l.facts.endpoint; e.Breaker.TTFTLimit > 0 {
		wait = min(wait, e.ttftLimit(c.request.Input))
	}
	return float64(left-wait) > r.expect(now, p, l.place, c.request.Input)
}

// probable tells whether a member passes every gate but the breaker's.
func (r *Router) probable(now int64, p *pool, l *learned, c *Call) bool {
	return p.has(l) && !c.triedAt(l) &&
		r.states.bits[l.place]&stateShut == 0 && r.limits(now, p, l.place) == Pass &&
		r.need.refused == Pass && r.pays(now, p, l.place, c) == Pass
}

// verdict tells the fleet how its probe went, once: at the first token, or at the end when
// that is what had opened it; a failure at any time.
func (r *Router) verdict(s *slot, phase breaker.Phase, good bool) {
	if s.permit != nil {
		r.judged(s, phase, good)
	}
}

func (r *Router) judged(s *slot, phase breaker.Phase, good bool) {
	switch {
	case !good && (phase == breaker.Finish || s.permit.Phase == breaker.Admit):
		r.result(*s.permit, ProbeBad)
	case good && phase == s.permit.Phase:
		r.result(*s.permit, ProbeGood)
	default:
		return
	}
	s.permit = nil
}

// waive gives back a probe that was not judged, or not sent after all.
func (r *Router) waive(l *learned, p probe) {
	if p.round != 0 {
		l.breaker.Return(p.round)
	}
	if p.permit != nil {
		r.result(*p.permit, ProbeUnused)
	}
}

func (r *Router) result(p Permit, o ProbeOutcome) {
	r.urgent = true
	if len(r.probes) < maxResults {
		r.probes = append(r.probes, ProbeResult{p.Number, p.Endpoint, p.Identity, p.Class, p.Round, o})
	}
}

// changed follows what a breaker did: events, the list of suspects, and the pools.
func (r *Router) changed(now int64, l *learned, ch breaker.Change) {
	if ch != (breaker.Change{}) {
		r.follow(now, l, ch)
	}
}

func (r *Router) follow(now int64, l *learned, ch breaker.Change) {
	r.touch(now, l)
	r.urgent = true
	r.trips = l.breaker.Trips(r.trips[:0])
	for c := range breaker.Classes {
		if ch.Closed&(1<<c) != 0 {
			r.event(Event{Kind: EventClosed, At: now, Endpoint: l.name, Class: c})
		}
	}
	for _, t := range r.trips {
		if ch.Opened&(1<<t.Class) != 0 {
			r.event(Event{Kind: EventOpened, At: now, Endpoint: l.name, Class: t.Class, Phase: t.Phase, Soft: t.Soft, Reason: t.Reason, Until: t.Until})
		}
	}
	r.suspect(l)
}

// suspect keeps the list of endpoints with trips.
func (r *Router) suspect(l *learned) {
	on := len(r.trips) > 0
	if on == l.suspect {
		return
	}
	l.suspect = on
	if on {
		r.suspects = append(r.suspects, l)
	} else {
		r.acquit(l)
	}
}

func (r *Router) acquit(l *learned) {
	if i := slices.Index(r.suspects, l); i >= 0 {
		r.suspects = slices.Delete(r.suspects, i, i+1)
		r.suspectAt = 0
	}
	l.suspect = false
}
