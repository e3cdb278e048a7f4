package route

import (
	"math"

	"github.com/pointsman/pointsman/clientlib/route/window"
)

const fewMore = 4 // requests by which a home must exceed the median before it is left

// With tells whether a rule goes with a strategy: score needs one that has scores.
func (r AffinityRule) With(s Strategy) bool { return r != AffinityScore || s.scores() }

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

// home is the endpoint that has seen the call's key before, by rule median: the first of the
// key's homes that takes the call, unless it does much worse than others.
func (r *Router) home(now int64, d *draws, p *pool, tier int, c *Call) int32 {
	w := p.work.compiled
	hand := w.handOf(tier, r.leading(p, tier, c))
	if w.spec.Strategy == Hash || w.tables[hand].Len() == 0 {
		return nowhere
	}
	key, ok := c.key(w.spec)
	if !ok {
		return nowhere
	}
	for k := range uint32(maxDraws) {
		if place := r.homeOf(now, d, p, hand, c, Rehash(key, k)); place != nowhere {
			if r.strained(now, p, tier, place) {
				break
			}
			return r.choice.found(WayHome, place)
		}
	}
	return nowhere
}

// near is rule score: a home of the call's key, the better of two, whose score is no more than
// slack times that of what the strategy chooses, where the cache is of no help; else that. Homes
// are of the band that it is of.
func (r *Router) near(now int64, d *draws, p *pool, tier int, c *Call) int32 {
	at, h, w := r.draw(now, d, p, tier, c), &r.choice, p.work.compiled
	key, ok := c.key(w.spec)
	hand := w.handOf(tier, h.band)
	if at == nowhere || !ok || w.tables[hand].Len() == 0 {
		return at
	}
	rival, score := r.finalist(now, p, c)
	slack, first, best := w.spec.Affinity.Slack, nowhere, refuge{}
	for k := range uint32(maxDraws) {
		place := w.tables[hand].At(Rehash(key, k))
		if place == first || !p.seats(hand, place) {
			continue
		}
		number := either(first == nowhere, firstHome, secondHome)
		if r.welcomes(now, d, p, hand, c, place) {
			mine := refuge{number: number, trial: trial{place: place}}
			mine.score = r.score(now, p, place, c, p.work.credit(number, c), &mine.trial)
			best = best.or(mine, float64(slack*score))
		}
		if number == secondHome {
			break
		}
		first = place
	}
	if best.number == noHome || best.score > float64(slack*score) {
		return at
	}
	h.prefer(best.number, best.trial, rival, slack)
	return best.place
}

const moved = 1.25 // from so many times the second home's score on the first is left for it

// refuge is a home that takes the call.
type refuge struct {
	trial
	score  float64
	number uint8 // noHome: none does
}

// or is the second home, if the first takes nothing, is above a limit, or much worse.
func (f refuge) or(s refuge, most float64) refuge {
	if f.number == noHome || s.score < f.score && f.score > most || float64(moved*s.score) < f.score {
		return s
	}
	return f
}

// Which home of its key an attempt went to, by rule score.
const (
	noHome uint8 = iota // elsewhere
	firstHome
	secondHome
)

// prefer notes that a home was taken, and over what.
func (h *choice) prefer(number uint8, home, over trial, slack float64) {
	h.way, h.home, h.trials = WayHome, number, [2]trial{home, over}
	h.drawn, h.chosen, h.tie, h.bias = 2, 0, 0, slack
}

// cached is the part of a prompt that answers had from their endpoint's cache: the mean of all,
// then of the latest.
type cached struct {
	part float64
	n    int64
}

const latest = 64 // answers that count for the part of prompts that is cached

func (m *cached) learn(part float64) {
	m.n = min(m.n+1, latest)
	m.part += float64((part - m.part) / float64(m.n))
}

// credit is how many tokens of a call's prompt a home is expected to have cached.
func (w *work) credit(home uint8, c *Call) int64 {
	if home == noHome {
		return 0
	}
	return min(int64(float64(w.cached[home-firstHome].part*float64(c.request.Input))), math.MaxUint32)
}

// recall learns from an answer that came from a home.
func (w *work) recall(s *slot, o *Outcome) {
	if part, told := o.reused(); told && s.home != noHome {
		w.cached[s.home-firstHome].learn(part)
	}
}

// reused is the part of the prompt that was cached, if the endpoint told.
func (o *Outcome) reused() (part float64, told bool) {
	if o.Usage.Input <= 0 || o.Estimated {
		return 0, false
	}
	return min(float64(tokens(o.Usage.Cached))/float64(tokens(o.Usage.Input)), 1), true
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
