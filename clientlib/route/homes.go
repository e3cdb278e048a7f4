package route

import (
	"math"
	"slices"
)

const crowding = 1.25 // of its part: a home with more takes no further key (decision-core.md, Choosing)

// keyed tells whether requests of a workload have homes.
func (w *Workload) keyed() bool { return w.Strategy == Hash || w.Affinity.On != AffinityNone }

// town is the tables that one Compile has built: workloads with equal homes share one.
type town []quarter

type quarter struct {
	homes []Home
	table *Maglev
}

func (t *town) table(homes []Home) *Maglev {
	for i := range *t {
		if q := &(*t)[i]; slices.Equal(q.homes, homes) {
			return q.table
		}
	}
	*t = append(*t, quarter{homes, NewMaglev(homes)})
	return (*t)[len(*t)-1].table
}

// house gives every tier of a workload, or each band of it, a table of homes, by configured weights: homes do
// not follow what is learned.
func (w *workload) house(s *static) {
	if !w.spec.keyed() {
		return
	}
	w.homes, w.tables = w.homesIn(s), make([]*Maglev, len(w.hands))
	for i := range w.tables {
		w.tables[i] = s.town.table(w.homes[i])
	}
}

// rehouse is what an earlier catalog made of the same workload, with homes as they are now.
func (w *workload) rehouse(s *static) *workload {
	if w.tables == nil {
		return w
	}
	homes := w.homesIn(s)
	if slices.EqualFunc(homes, w.homes, slices.Equal[[]Home]) {
		return w
	}
	moved := *w
	moved.homes, moved.tables = homes, slices.Clone(w.tables)
	for i := range homes {
		if !slices.Equal(homes[i], w.homes[i]) {
			moved.tables[i] = s.town.table(homes[i])
		}
	}
	return &moved
}

func (w *workload) homesIn(s *static) [][]Home {
	homes := make([][]Home, len(w.hands))
	for i, places := range w.hands {
		for _, place := range places {
			homes[i] = append(homes[i], w.homeAt(s.facts[place], place))
		}
	}
	return homes
}

func (w *workload) homeAt(f *facts, place int32) Home {
	h := Home{Place: place, Hash: Key(f.endpoint.Name), Share: f.endpoint.Weight}
	if h.Share == Absent {
		h.Share = 100
	}
	if w.allows(f) != Pass {
		h.Share = 0
	}
	return h
}

// members are a tier's places, by name.
func (p *pool) members(tier int) []int32 { return p.places[p.tiers[tier].from:p.tiers[tier].to] }

// seats tells whether a place is a member of a hand.
func (p *pool) seats(hand int, place int32) bool {
	places := p.held(hand)
	if len(places) == len(p.work.compiled.hands[hand]) {
		return true // nobody is left out
	}
	_, ok := slices.BinarySearch(places, place)
	return ok
}

// homeOf is where hash k of a key finds its home in a hand, if that is there and takes the call.
func (r *Router) homeOf(now int64, d *draws, p *pool, hand int, c *Call, hash uint32) int32 {
	place := p.work.compiled.tables[hand].At(hash)
	if p.seats(hand, place) && r.welcomes(now, d, p, hand, c, place) {
		return place
	}
	return nowhere
}

// welcomes tells whether a home takes the call.
func (r *Router) welcomes(now int64, d *draws, p *pool, hand int, c *Call, place int32) bool {
	if reason := r.gate(now, p, place, c); reason != Pass {
		r.refuse(now, place, reason)
		return false
	}
	return takes(d, r.ramped(now, p, p.work.compiled.tierOf(hand), place))
}

// hashed is the strategy hash: the first of a key's homes that takes the call and is not
// crowded, else a draw.
func (r *Router) hashed(now int64, d *draws, p *pool, tier int, c *Call) int32 {
	key, ok := c.key(p.work.compiled.spec)
	if ok && p.work.compiled.tables[tier].Len() > 0 {
		for k := range uint32(maxDraws) {
			place := r.homeOf(now, d, p, tier, c, Rehash(key, k))
			if place != nowhere && !r.crowded(now, p, tier, place) {
				return r.choice.found(WayHome, place)
			}
		}
	}
	t := r.tries(now, p, tier)
	return r.choice.found(WayDrawn, r.fetch(now, d, p, c, &t))
}

// crowded tells whether one more request would be too many for a home's part of the load.
// A part is of whole requests, and the first is never too many.
func (r *Router) crowded(now int64, p *pool, tier int, place int32) bool {
	load := r.current[place].load(now)
	if load < 1 {
		return false
	}
	n := r.norm(now, p, tier)
	total := n.load + float64(r.inAir()-n.own) + 1 // with what came since
	part := float64(float64(r.states.shares[place])*total) / float64(p.tiers[tier].weight)
	return load+1 > math.Ceil(float64(crowding*part))
}
