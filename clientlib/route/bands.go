package route

import "slices"

// thrift is how much better the second band must be: its best wins at so much of the first's
// score (decision-core.md, Choosing).
const thrift = 0.9

// admits tells whether requests of so many tokens, the predicted answer's among them, are for
// the band.
func (b *Band) admits(tokens int64) bool { return b.UptoTokens == Absent || tokens <= b.UptoTokens }

// reach is the largest request that is for the band.
func (b *Band) reach() int64 {
	if b.UptoTokens == Absent {
		return mostCount
	}
	return min(b.UptoTokens, mostCount)
}

// hand is one band of a tier, as a pool stands to it: of a workload without bands a tier is
// one hand, and counts as it.
type hand struct {
	eligible int64 // of the shares
	sparse   bool  // as a tier
	thin     deck
}

// handOf numbers the bands of all tiers in turn.
func (w *workload) handOf(tier, band int) int { return tier*max(len(w.bands), 1) + band }

// tierOf is the tier that a hand is of.
func (w *workload) tierOf(hand int) int { return hand / max(len(w.bands), 1) }

// divide deals the places of each tier to the bands that name their models, cheapest first.
func (w *workload) divide(s *static) {
	w.hands = w.tiers
	if w.spec.Strategy != CostTiered {
		return
	}
	w.bands, w.hands = w.spec.Bands, nil
	for _, places := range w.tiers {
		for i := range w.bands {
			w.hands = append(w.hands, among(places, func(place int32) bool {
				return slices.Contains(w.bands[i].Models, s.facts[place].endpoint.Model)
			}))
		}
	}
}

// among are those of some places that are asked for.
func among(places []int32, want func(int32) bool) (some []int32) {
	for _, place := range places {
		if want(place) {
			some = append(some, place)
		}
	}
	return some
}

// bandless is the first place that is in no band; nowhere: there is none.
func (w *workload) bandless() int32 {
	for tier, places := range w.tiers {
		for _, place := range places {
			if len(w.bands) > 0 && !w.within(tier, 0, place) {
				return place
			}
		}
	}
	return nowhere
}

// within tells whether a place is in one of a tier's bands from one on.
func (w *workload) within(tier, from int, place int32) bool {
	for k := from; k < len(w.bands); k++ {
		if _, in := slices.BinarySearch(w.hands[w.handOf(tier, k)], place); in {
			return true
		}
	}
	return false
}

// further is the next dearer band of a tier that has any place, after the first that has this
// one; 0: there is none.
func (w *workload) further(tier int, place int32) int {
	found := false
	for k := range w.bands {
		places := w.hands[w.handOf(tier, k)]
		if found && len(places) > 0 {
			return k
		}
		_, in := slices.BinarySearch(places, place)
		found = found || in
	}
	return 0
}

// turn is the band that is looked at so late.
func (w *workload) turn(i int) int {
	if w.spec.PreferQuality {
		return len(w.bands) - 1 - i
	}
	return i
}

// split notes which of a roster's members are in which band.
func (o *roster) split(w *workload) {
	if len(w.bands) == 0 {
		return
	}
	from := 0
	for tier, end := range o.ends {
		for k := range w.bands {
			home := w.hands[w.handOf(tier, k)]
			o.hands = append(o.hands, among(o.places[from:end], func(place int32) bool {
				_, in := slices.BinarySearch(home, place)
				return in
			}))
		}
		from = end
	}
}

// held are the members of a hand.
func (p *pool) held(hand int) []int32 {
	if p.hands == nil {
		return p.members(hand)
	}
	return p.hands[hand]
}

// weighBands keeps the tables of a tier's bands in step.
func (r *Router) weighBands(now int64, p *pool, tier int) {
	t := &p.tiers[tier]
	for k := range t.bands {
		h, n := &t.bands[k], p.work.compiled.handOf(tier, k)
		total, eligible, _ := r.stand(now, p, p.held(n))
		h.eligible, h.sparse = eligible, 4*(total-eligible) > total
		if h.sparse {
			r.deal(&h.thin, p.held(n), p.mask)
		} else {
			r.deal(&p.decks[n], p.held(n), 0)
		}
	}
}

// bandTries are draws from one band of a tier.
func (p *pool) bandTries(tier, band int) tries {
	n := p.work.compiled.handOf(tier, band)
	t := tries{tier: tier, band: band + 1, table: &p.decks[n].table, left: maxDraws}
	if h := &p.tiers[tier].bands[band]; h.sparse {
		t.table = &h.thin.table
	}
	return t
}

// complexity is what tells a call's bands: its input and predicted answer.
func (r *Router) complexity(c *Call) int64 { return c.request.Input + r.need.answer }

// banded is the strategy cost_tiered: of the first band that is for the call and has an
// endpoint for it the better of two draws, unless that of the second is better by a tenth.
func (r *Router) banded(now int64, d *draws, p *pool, tier int, c *Call) int32 {
	h, w, at := &r.choice, p.work.compiled, nowhere
	var front trial
	var score float64
	for i := range w.bands {
		k := w.turn(i)
		if !r.suits(w, k, c) {
			continue
		}
		t := p.bandTries(tier, k)
		found := r.twice(now, d, p, c, &t)
		if found == nowhere {
			continue
		}
		if at == nowhere {
			at, h.band = found, k
			front, score = r.finalist(now, p, c)
			continue
		}
		back, best := r.finalist(now, p, c)
		h.trials, h.bias, h.tie = [2]trial{back, front}, thrift, 0
		if at = h.decide(d, best, score); h.chosen == 0 {
			h.band = k
		}
		return at
	}
	return at
}

// suits tells whether a band is for the call, or else is the one that is asked all the same.
func (r *Router) suits(w *workload, band int, c *Call) bool {
	if only := r.choice.beyond; only > 0 {
		return band == only-1
	}
	return w.bands[band].admits(r.complexity(c))
}

// finalist is what the draws before came to, and its score.
func (r *Router) finalist(now int64, p *pool, c *Call) (trial, float64) {
	t := r.choice.trials[r.choice.chosen]
	if r.choice.drawn > 1 {
		return t, p.work.compiled.spec.Strategy.score(&t.Inputs)
	}
	score := r.score(now, p, t.place, c, 0, &t)
	return t, score
}

// leading is the first band that is for the call and has anything eligible in a tier.
func (r *Router) leading(p *pool, tier int, c *Call) int {
	w := p.work.compiled
	for i := range w.bands {
		k := w.turn(i)
		if r.suits(w, k, c) && p.tiers[tier].bands[k].eligible > 0 {
			return k
		}
	}
	return 0
}
