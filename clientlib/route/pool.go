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
	members []member
	tiers   []tier
	seats   []int32 // by place of an endpoint: which member it is, from 1
	left    []left  // those that a gate keeps out of it
	panic   bool    // soft trips are ignored
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
	p := w.latest
	if p == nil || p.ask != *a {
		p = r.poolOf(w, a)
	}
	p.usedAt, w.latest = now, p
	if p.static != r.snapshot.static {
		r.build(p)
	}
	if p.overlay != r.overlay || p.changes != r.changes || now >= p.dueAt {
		r.refresh(now, p)
	}
	return p
}

// poolOf is the pool of an ask that is not the latest, made when there is none.
func (r *Router) poolOf(w *work, a *ask) *pool {
	p := w.pools[*a]
	if p == nil {
		r.makeRoom()
		p = &pool{work: w, ask: *a}
		w.pools[*a], w.list = p, append(w.list, p)
		r.pools++
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
	if from.latest == from.list[least] {
		from.latest = nil
	}
	delete(from.pools, from.list[least].ask)
	from.list = slices.Delete(from.list, least, least+1)
	r.pools--
}

// build fills a pool from the catalog; how its tiers fare stays.
func (r *Router) build(p *pool) {
	s, w := r.snapshot.static, p.work.compiled
	was := p.tiers
	*p = pool{work: p.work, ask: p.ask, usedAt: p.usedAt, panic: p.panic, static: s, seats: make([]int32, len(s.facts))}
	p.members = make([]member, 0, w.size())
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

func (r *Router) seat(p *pool, place int32, tier string) {
	s, w := r.snapshot.static, p.work.compiled
	f, l := s.facts[place], r.current[place]
	reason := w.allows(f)
	if reason == Pass {
		reason = w.admits(f, &p.ask, s.policies[p.ask.policy])
	}
	if reason != Pass {
		p.left = append(p.left, left{l.name, tier, reason})
		return
	}
	p.members = append(p.members, member{learned: l, tally: l.tally(w.spec.Name)})
	if p.seats[place] == 0 {
		p.seats[place] = int32(len(p.members))
	}
}

// member is the first of an endpoint, or nil.
func (p *pool) member(l *learned) *member {
	if l == nil || l.leftAt > 0 || p.seats[l.place] == 0 {
		return nil
	}
	return &p.members[p.seats[l.place]-1]
}
