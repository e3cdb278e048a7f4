package route

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

const maxPools = 256 // in one process

// ask is what decides which endpoints of a workload could serve a request, whatever their
// load: one pool serves all requests that ask the same.
type ask struct {
	needs   set
	apis    set
	window  int64 // tokens: a bucket
	output  int64 // tokens: a bucket
	policy  string
	classes breaker.ClassSet
}

// pool is the endpoints that can serve an ask, tier by tier.
type pool struct {
	static  *static // built for
	overlay uint64  // refreshed for
	changes uint64
	dueAt   int64 // when time alone asks for a refresh
	usedAt  int64

	work    *work
	ask     ask
	classes breaker.ClassSet
	members []member
	tiers   []tier
	byOwner map[*learned]int32
	left    []left // those that a gate keeps out of it
	panic   bool   // soft trips are ignored
	median  float64
	sumAt   int64 // when the median was taken
}

type left struct {
	endpoint string
	tier     string
	reason   Reason
}

// member is one endpoint of a pool.
type member struct {
	*learned
	tally    *tally
	base     float64 // configured share
	share    float64 // with its ramp
	drawn    float64 // as in the table
	next     float64 // scratch
	standing standing
}

// pool finds or builds the pool of an ask and brings it up to date.
func (r *Router) pool(now int64, w *work, a *ask) *pool {
	p := w.pools[*a]
	if p == nil {
		r.makeRoom()
		p = &pool{work: w, ask: *a, classes: a.classes}
		w.pools[*a], w.list = p, append(w.list, p)
		r.pools++
	}
	p.usedAt = now
	if p.static != r.snapshot.static {
		r.build(p)
	}
	if p.overlay != r.overlay || p.changes != r.changes || now >= p.dueAt {
		r.refresh(now, p)
	}
	return p
}

// makeRoom drops the pool that was not used for longest.
func (r *Router) makeRoom() {
	if r.pools < maxPools {
		return
	}
	var from *work
	least := 0
	for _, w := range r.order {
		for i, p := range w.list {
			if from == nil || p.usedAt < from.list[least].usedAt {
				from, least = w, i
			}
		}
	}
	delete(from.pools, from.list[least].ask)
	from.list = slices.Delete(from.list, least, least+1)
	r.pools--
}

// build fills a pool from the catalog; how its tiers fare stays.
func (r *Router) build(p *pool) {
	s, w := r.snapshot.static, p.work.compiled
	was := p.tiers
	*p = pool{work: p.work, ask: p.ask, classes: p.classes, usedAt: p.usedAt, panic: p.panic, static: s, byOwner: map[*learned]int32{}}
	for i, places := range w.tiers {
		t := tier{name: w.spec.Tiers[i].Name, from: len(p.members)}
		for _, place := range places {
			r.seat(p, place, t.name)
		}
		t.to = len(p.members)
		if k := slices.IndexFunc(was, func(o tier) bool { return o.name == t.name }); k >= 0 {
			t.course = was[k].course
		}
		p.tiers = append(p.tiers, t)
	}
}

func (r *Router) seat(p *pool, place place, tier string) {
	reason := place.reason
	if reason == Pass {
		reason = p.work.compiled.admits(place.facts, &p.ask, r.snapshot.static.policies[p.ask.policy])
	}
	e := place.facts.endpoint
	if reason != Pass {
		p.left = append(p.left, left{e.Name, tier, reason})
		return
	}
	l := r.learned[key{e.Name, e.Identity}]
	if _, twice := p.byOwner[l]; !twice {
		p.byOwner[l] = int32(len(p.members))
	}
	p.members = append(p.members, member{learned: l, tally: l.tally(p.work.compiled.spec.Name)})
}
