package route

import (
	"math"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

const (
	downBelow   = 0.5 // of its share eligible
	upFrom      = 0.7
	upAfter     = 10 * second
	returnPace  = 0.2     // a second
	refreshLast = 100_000 // µs a pool's standing is used for while time moves it
	medianLast  = second  // and its median
)

// tier is a run of a pool's members that balance among themselves.
type tier struct {
	name     string
	from, to int // in the pool's places
	course   course
	eligible float64 // part of its share, 0 to 1
	sparse   bool    // more than a quarter is not: draws come from those that are
	thin     deck    // of those, when sparse
	favour   favour  // what the thin deck is of, by weights
	top      float64 // the largest factor of a ramp, when all ramp; else 1
	weight   int64   // of the shares, what is eligible
	turn     rotation
	bands    []hand // none: it balances as a whole
}

// course is how a tier fares: down below half, back after ten seconds, bit by bit.
type course struct {
	down   bool
	wellAt int64 // since when enough of it is eligible, while down
	backAt int64 // when it came back; 0: never was down
}

// refresh brings tiers, tables and the panic rule up to date.
func (r *Router) refresh(now int64, p *pool) {
	p.changes, p.dueAt = r.states.changes, forever
	var total, strict int64
	soft := false
	refused, hard := refusing(p.ask.classes, false), refusing(p.ask.classes, true)
	for _, place := range p.places {
		share, bits := r.states.shares[place], r.states.bits[place]
		total += share
		switch {
		case bits&refused == 0:
			strict += share
		case bits&hard == 0:
			soft = true
		}
	}
	r.alarm(now, p, soft && 2*strict < total) // less than half of the pool's share
	p.mask = refusing(p.ask.classes, p.panic)
	for i := range p.tiers {
		r.weigh(now, p, i)
	}
	if p.restless() {
		p.dueAt = now + refreshLast
	}
}

// restless pools have a tier to bring back though nobody may ask for it, or ramp as a whole.
func (p *pool) restless() bool {
	for i := range p.tiers {
		if p.tiers[i].course.down || p.tiers[i].top < 1 {
			return true
		}
	}
	return false
}

// alarm switches the panic rule: soft trips are ignored when too few are left.
func (r *Router) alarm(now int64, p *pool, on bool) {
	if on != p.panic {
		p.panic = on
		r.event(Event{Kind: either(on, EventPanic, EventCalm), At: now, Workload: p.work.compiled.spec.Name})
	}
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// weigh sums what of a tier is eligible, moves its course, and keeps its table in step.
func (r *Router) weigh(now int64, p *pool, i int) {
	t := &p.tiers[i]
	total, eligible, top := r.stand(now, p, p.members(i))
	t.eligible, t.top, t.weight = 0, 1, eligible
	if total > 0 {
		t.eligible = float64(eligible) / float64(total)
	}
	if eligible > 0 {
		t.top = top
	}
	if was := t.course.down; total > 0 && t.course.move(now, t.eligible) != was {
		r.event(Event{Kind: either(was, EventTierUp, EventTierDown), At: now, Workload: p.work.compiled.spec.Name, Name: t.name})
	}
	t.sparse = 4*(total-eligible) > total // decision-core.md, What it is given: > 25 %
	switch {
	case p.work.compiled.spec.Strategy == LatencyWeighted: // who draws deals
	case len(t.bands) > 0:
		r.weighBands(now, p, i)
	case t.sparse:
		r.deal(&t.thin, p.places[t.from:t.to], p.mask)
	default:
		r.deal(&p.decks[i], p.places[t.from:t.to], 0)
	}
}

// stand sums the shares of some of a pool's members, all and what is eligible, and has the
// largest factor of a ramp.
func (r *Router) stand(now int64, p *pool, places []int32) (total, eligible int64, top float64) {
	for _, place := range places {
		share, bits := r.states.shares[place], r.states.bits[place]
		total += share
		if bits&p.mask == 0 {
			eligible += share
			top = max(top, r.ramp(now, place, bits, p.ask.classes))
		}
	}
	return total, eligible, top
}

// table is what the tier's members are drawn from.
func (r *Router) table(now int64, p *pool, i int) *Alias {
	switch {
	case p.work.compiled.spec.Strategy == LatencyWeighted:
		return r.favoured(now, p, i)
	case p.tiers[i].sparse:
		return &p.tiers[i].thin.table
	}
	return &p.decks[i].table
}

// ramp is what a share is multiplied with while its breaker closed a short while ago.
func (r *Router) ramp(now int64, place int32, bits state, classes breaker.ClassSet) float64 {
	if bits&(state(classes)<<stateRamping) == 0 {
		return 1
	}
	return r.current[place].word.factor(now, classes)
}

// move tells whether the tier is down.
func (c *course) move(now int64, eligible float64) bool {
	switch {
	case eligible < downBelow:
		*c = course{down: true}
	case c.down && eligible < upFrom:
		c.wellAt = 0
	case c.down && c.wellAt == 0:
		c.wellAt = now
	case c.down && now-c.wellAt >= upAfter:
		*c = course{backAt: now}
	}
	return c.down
}

// takes tells whether a tier is open to a request, by its hash while it is coming back.
func (c *course) takes(now int64, hash uint32) bool {
	if c.down {
		return false
	}
	if c.backAt == 0 {
		return true
	}
	back := float64(returnPace*float64(now-c.backAt)) / second
	return float64(hash) < float64(back*(math.MaxUint32+1))
}
