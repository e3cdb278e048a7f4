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
	policy  int32 // of the tenant
	classes breaker.ClassSet
	from    int32 // tier: those before it are left out, after an escalation
	band    int32 // of that tier, and those before it are
}

// hash is where a pool of the ask is looked for first.
func (a *ask) hash() uint32 {
	h := a.needs[0] ^ a.needs[1]<<1 ^ a.apis[0]<<2 ^ a.apis[1]<<3 ^ uint64(a.window)<<5 ^ uint64(a.output)<<7
	h ^= uint64(a.policy)<<11 ^ uint64(a.classes)<<13 ^ uint64(a.from)<<17 ^ uint64(a.band)<<23
	return uint32(h * 0x9E3779B97F4A7C15 >> 32)
}

// is tells whether two asks are equal: the compiler would call for a comparison of bytes.
func (a *ask) is(b *ask) bool {
	names := (a.needs[0] ^ b.needs[0]) | (a.needs[1] ^ b.needs[1]) | (a.apis[0] ^ b.apis[0]) | (a.apis[1] ^ b.apis[1])
	sizes := (a.window ^ b.window) | (a.output ^ b.output)
	return names|uint64(sizes) == 0 && a.policy == b.policy && a.from == b.from && a.band == b.band && a.classes == b.classes
}

// pool is the endpoints that can serve an ask, tier by tier.
type pool struct {
	token   *token    // of the static that it is built for
	made    *workload // of
	changes uint64    // refreshed for
	dueAt   int64     // when time alone asks for a refresh
	usedAt  int64

	*roster
	work    *work
	ask     ask
	tiers   []tier
	first   int    // tier that has members
	mask    state  // what refuses here
	slowest int64  // of the contract, µs; 0: none
	left    []left // those that a gate keeps out of it
	panic   bool   // soft trips are ignored
	even    bool   // who passes the gates for time and load is taken when drawn: see unhindered
}

type left struct {
	endpoint string
	tier     string
	reason   Reason
}

// roster is the members of a pool, shared by all pools of a workload that have the same.
type roster struct {
	places  []int32   // of all tiers in turn, each by name
	ends    []int     // of each tier in places
	hands   [][]int32 // the places of each tier's bands: see handOf; nil: there are no bands
	decks   []deck    // by hand, of all members
	norms   []norm    // by tier
	median  float64   // of what members measured
	sumAt   int64     // when the median was taken
	overlay uint64    // and for which snapshot

	rate     float64 // tokens a minute of those that have a limit, mean
	ratedFor uint64  // which snapshot

	others    []float64 // in flight, as they count: by place
	othersFor uint64    // which snapshot

	foreseen foresight
}

// deck draws places by share.
type deck struct {
	table  Alias
	shares []int64 // as the table has them
}

// member is one endpoint that a call goes to.
type member struct {
	*learned
	tally *tally
}

func (r *Router) member(w *work, place int32) member {
	if w.tallies[place] == nil {
		w.tallies[place] = r.current[place].tally(w.compiled.spec.Name)
	}
	return member{r.current[place], w.tallies[place]}
}

// pool finds or builds the pool of an ask and brings it up to date.
func (r *Router) pool(now int64, w *work, a *ask) *pool {
	p := w.recent[a.hash()%recentPools]
	if p == nil || !p.ask.is(a) {
		p = r.poolOf(w, a)
	}
	p.usedAt = now
	r.freshen(now, p)
	return p
}

// peek is the pool of an ask as it would be: one that nobody asked for is not kept, and what
// it finds is no event.
func (r *Router) peek(now int64, w *work, a *ask) *pool {
	if p := w.pools[*a]; p != nil {
		r.freshen(now, p)
		return p
	}
	p := &pool{work: w, ask: *a}
	events, lost := r.events, r.lost
	r.freshen(now, p)
	r.events, r.lost = events, lost
	return p
}

// freshen brings a pool up to date.
func (r *Router) freshen(now int64, p *pool) {
	if p.token != r.snapshot.static.token && !r.keep(p) {
		r.build(p)
	}
	r.pass(now)
	if p.changes != r.states.changes || now >= p.dueAt {
		r.refresh(now, p)
	}
	if p.othersFor != r.overlay {
		r.weighOthers(p)
	}
}

// poolOf is the pool of an ask that was not asked lately, made when there is none.
func (r *Router) poolOf(w *work, a *ask) *pool {
	p := w.pools[*a]
	if p == nil {
		r.makeRoom()
		p = &pool{work: w, ask: *a}
		w.pools[*a], w.list = p, append(w.list, p)
		r.pools++
	}
	w.recent[a.hash()%recentPools] = p
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
	gone := from.list[least]
	if at := gone.ask.hash() % recentPools; from.recent[at] == gone {
		from.recent[at] = nil
	}
	delete(from.pools, gone.ask)
	from.list = slices.Delete(from.list, least, least+1)
	r.pools--
}

// keep tells whether a pool holds for a new catalog too: all that differs were and are members.
func (r *Router) keep(p *pool) bool {
	s, w := r.snapshot.static, p.work.compiled
	if p.token == nil || p.token != s.parent || p.made != w {
		return false
	}
	for _, place := range s.changed {
		for i, places := range w.tiers {
			if _, in := slices.BinarySearch(places, place); in && (!p.holds(i, place) || r.admits(p, place, i) != Pass) {
				return false
			}
		}
	}
	r.seat(p.work)
	p.token = s.token
	return true
}

// build fills a pool from the catalog; how its tiers fare stays.
func (r *Router) build(p *pool) {
	s, w := r.snapshot.static, p.work.compiled
	r.seat(p.work)
	was, even := p.tiers, w.spec.Strategy != LatencyWeighted && w.spec.Strategy != QuotaAware && w.spec.Contract.MaxTTFT == 0
	*p = pool{even: even, work: p.work, ask: p.ask, usedAt: p.usedAt, panic: p.panic, token: s.token, made: w, slowest: w.spec.Contract.MaxTTFT}
	o := &roster{places: make([]int32, 0, w.size()), sumAt: -medianLast}
	for i, places := range w.tiers {
		t := tier{name: w.spec.Tiers[i].Name, from: len(o.places), bands: make([]hand, len(w.bands))}
		for _, place := range places {
			if reason := r.admits(p, place, i); reason != Pass {
				p.left = append(p.left, left{s.facts[place].endpoint.Name, t.name, reason})
				continue
			}
			o.places = append(o.places, place)
		}
		t.to = len(o.places)
		if t.to == 0 {
			p.first = i + 1 // nobody so far
		}
		o.ends = append(o.ends, t.to)
		if k := slices.IndexFunc(was, func(o tier) bool { return o.name == t.name }); k >= 0 {
			t.course = was[k].course
		}
		p.tiers = append(p.tiers, t)
	}
	p.roster = p.work.share(s, o)
}

// admits is every static gate: the contract's, and what the ask needs.
func (r *Router) admits(p *pool, place int32, tier int) Reason {
	s, w := r.snapshot.static, p.work.compiled
	if reason := w.allows(s.facts[place]); reason != Pass {
		return reason
	}
	if reason := w.admits(s.facts[place], &p.ask, s.policies[p.ask.policy]); reason != Pass {
		return reason
	}
	if from := int(p.ask.from); tier < from || p.ask.band > 0 && tier == from && !w.within(tier, int(p.ask.band), place) {
		return ReasonExcluded
	}
	return Pass
}

// share finds the same roster in another pool.
func (w *work) share(s *static, o *roster) *roster {
	for _, p := range w.list {
		if p.token == s.token && p.roster != nil && slices.Equal(p.places, o.places) && slices.Equal(p.ends, o.ends) {
			return p.roster
		}
	}
	o.split(w.compiled)
	o.decks, o.norms = make([]deck, w.compiled.handOf(len(o.ends), 0)), make([]norm, len(o.ends))
	return o
}

// seat makes room for the tallies of a new catalog's endpoints.
func (r *Router) seat(w *work) {
	s, was := r.snapshot.static, w.seated
	w.seated = s.token
	switch {
	case was == s.token:
		return
	case was != nil && was == s.parent:
		for _, place := range s.changed {
			w.tallies[place] = r.current[place].tallies[w.compiled.spec.Name]
		}
		return
	}
	w.tallies = make([]*tally, len(r.current))
	for _, places := range w.compiled.tiers {
		for _, place := range places {
			w.tallies[place] = r.current[place].tallies[w.compiled.spec.Name]
		}
	}
}

// has tells whether an endpoint is a member.
func (p *pool) has(l *learned) bool {
	if l == nil || l.leftAt > 0 {
		return false
	}
	for i := range p.tiers {
		if p.holds(i, l.place) {
			return true
		}
	}
	return false
}

func (p *pool) holds(tier int, place int32) bool {
	_, ok := slices.BinarySearch(p.places[p.tiers[tier].from:p.tiers[tier].to], place)
	return ok
}

// deal builds a deck anew when a share left it by too much. Who is refused has none.
func (r *Router) deal(k *deck, places []int32, refused state) {
	moved := len(k.shares) != len(places)
	next := r.dealt[:0]
	for i, place := range places {
		want := r.states.shares[place]
		if r.states.bits[place]&refused != 0 {
			want = 0
		}
		moved = moved || far(want, k.shares[i])
		next = append(next, want)
	}
	r.dealt = next
	if !moved {
		return
	}
	k.shares = append(k.shares[:0], next...)
	numbers := r.numbers[:0]
	for _, share := range next {
		numbers = append(numbers, float64(share))
	}
	r.numbers = numbers
	k.table.Build(numbers, places)
}

// far tells whether a share drifted by a twentieth or more.
func far(want, had int64) bool {
	return want != had && 20*max(want-had, had-want) >= had
}

// middle is the lower median of what members measured, without those that the fleet holds
// open; 0 when none did.
func (r *Router) middle(now int64, p *pool) float64 {
	o := p.roster
	if now-o.sumAt < medianLast && o.overlay == r.overlay {
		return o.median
	}
	all := r.numbers[:0]
	for _, place := range o.places {
		if a := r.measured(p.work, place); a.n > 0 && r.current[place].heldBy(allClasses) == 0 {
			all = append(all, a.value)
		}
	}
	r.numbers = all
	o.median, o.sumAt, o.overlay = median(all), now, r.overlay
	return o.median
}
