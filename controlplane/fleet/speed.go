package fleet

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	slowest, fastest = 0.1, 4.0
	speedStep        = 1.2 // in a second, at most
	speedHalf        = 10 * second
	speedTold        = 0.02        // a smaller change is no news,
	speedPrior       = 5 * second  // of work in flight, that a cold speed counts for
	mostBusy         = 10 * second // one row never counts for more, whatever a leaf says,
	mostPace         = 16.0        // nor for another speed

	engineLast  = 10 * second // a reading adjusts as long
	kvFull      = 0.9         // from there on with requests that wait, new ones wait for memory (server-metrics.md)
	typicalIn   = 1000        // tokens of the request that a capacity is held against,
	typicalOut  = 200         // and of its answer
	firstUS     = 200_000     // decision-core.md, Latency: E at speed 1,
	promptUS    = 100         // κ, µs a token of the prompt
	answerUS    = 15_000      // and a token of the answer
	typicalWork = firstUS + typicalIn*promptUS + typicalOut*answerUS
)

// speed is how fast an endpoint works, next to those that share its tiers.
type speed struct {
	work, busy float64 // µs, fading: of successes
	cold       float64 // what a capacity lets expect; 1: nothing is declared
	declared   bool
	engine     reading

	now   float64 // 0: never judged
	said  float64 // in the row; 0: not learned, or 1
	about float64 // the estimate, not next to others yet
}

// reading is what a model server said of its load.
type reading struct {
	at     int64
	factor float64 // of what is running among all that it has
	pace   float64 // work ÷ time in flight by its tokens; 0: it does not say
}

// tierOf is the endpoints that one tier has.
type tierOf struct {
	members []*endpoint
	known   bool    // something is, of one of them
	scale   float64 // what is seen next to what was expected cold
	mean    float64
}

// describe takes what a catalog says of an endpoint's capacity.
func (s *speed) describe(c route.Capacity) {
	first, answer := float64(promptUS), float64(answerUS)
	if c.PrefillTPS > 0 {
		first = 1e6 / float64(c.PrefillTPS)
	}
	if c.TPOT > 0 {
		answer = float64(c.TPOT)
	}
	s.declared = c.PrefillTPS > 0 || c.TPOT > 0
	s.cold = clampPace(typicalWork / (firstUS + typicalIn*first + typicalOut*answer))
}

// hear takes a reading of a model server.
func (s *speed) hear(at int64, l *route.EngineLoad) {
	if l.Running < 0 && l.Waiting < 0 && l.KVUsed < 0 || at < s.engine.at {
		return
	}
	running, waiting := max(l.Running, 0), max(l.Waiting, 0)
	s.engine = reading{at: at, factor: 1}
	if waiting > 0 {
		s.engine.factor = max(running, 1) / (max(running, 1) + waiting)
		if l.KVUsed > kvFull {
			s.engine.factor *= max(1-(l.KVUsed-kvFull)/(2*(1-kvFull)), 0.5)
		}
	}
	if running >= 1 && l.PromptTPS >= 0 && l.OutputTPS >= 0 {
		s.engine.pace = clampPace((l.PromptTPS*promptUS + l.OutputTPS*answerUS) / 1e6 / (running + waiting))
	}
}

// count adds what a row's successes took. A pace that nothing has is cut.
func (s *speed) count(r *route.Row) {
	if r.Class != breaker.Any || r.BusyUS == 0 || r.WorkUS == 0 {
		return
	}
	busy := min(float64(r.BusyUS), mostBusy)
	s.work += busy * clampPace(float64(r.WorkUS)/float64(r.BusyUS))
	s.busy += busy
}

func clampPace(v float64) float64 { return min(max(v, 1/mostPace), mostPace) }

// fade lets a second pass.
func (s *speed) fade() {
	f := window.Decay(second, speedHalf)
	s.work, s.busy = s.work*f, s.busy*f
	if s.busy < 1 {
		s.work, s.busy = 0, 0
	}
}

// learned tells whether there is anything to tell from others.
func (s *speed) learned(now int64) bool {
	return s.busy > 0 || s.declared || s.engine.at > 0 && now-s.engine.at < engineLast
}

// judgeSpeeds lets each speed go a step towards what is seen, once a second.
func (f *Fleet) judgeSpeeds(now int64) {
	for _, t := range f.tiers {
		t.weigh(now)
	}
	for _, e := range f.order {
		e.speed.estimate(now, e.meanOf(func(t *tierOf) float64 { return t.scale }))
	}
	for _, t := range f.tiers {
		t.average()
	}
	for _, e := range f.order {
		e.accelerate(now, e.meanOf(func(t *tierOf) float64 { return t.mean }))
		e.speed.fade()
	}
}

// weigh finds how fast a tier is next to what its members' capacities let expect.
func (t *tierOf) weigh(now int64) {
	var work, cold float64
	t.known = false
	for _, e := range t.members {
		t.known = t.known || e.speed.learned(now)
		work, cold = work+e.speed.work, cold+e.speed.busy*e.speed.cold
	}
	t.scale = 1
	if cold > 0 {
		t.scale = work / cold
	}
}

// estimate is what was seen, and the less there is of it, what its tier lets expect.
func (s *speed) estimate(now int64, scale float64) {
	expected, prior := s.cold*scale, float64(speedPrior)
	fresh := s.engine.at > 0 && now-s.engine.at < engineLast
	if fresh && s.engine.pace > 0 && s.busy < prior {
		expected = s.engine.pace
	}
	s.about = (s.work + prior*expected) / (s.busy + prior)
	if fresh {
		s.about *= s.engine.factor
	}
}

// average is over members that are not held: of those nothing is seen.
func (t *tierOf) average() {
	sum, n := 0.0, 0.0
	for _, e := range t.members {
		if !e.held() {
			sum, n = sum+e.speed.about, n+1
		}
	}
	t.mean = 0
	if n > 0 {
		t.mean = sum / n
	}
}

// meanOf is something of the tiers that an endpoint is in, on average; 1 of none.
func (e *endpoint) meanOf(of func(*tierOf) float64) float64 {
	if len(e.tiers) == 0 {
		return 1
	}
	sum := 0.0
	for _, t := range e.tiers {
		sum += of(t)
	}
	return sum / float64(len(e.tiers))
}

// accelerate goes a step towards the estimate next to the others'. Where nothing is known any
// more, it goes back to 1.
func (e *endpoint) accelerate(now int64, mean float64) {
	s, want := &e.speed, 1.0
	if mean > 0 && slices.ContainsFunc(e.tiers, func(t *tierOf) bool { return t.known }) {
		want = min(max(s.about/mean, slowest), fastest)
	}
	switch {
	case s.now == 0 && s.busy == 0 && s.declared:
		s.now = want // cold: nothing to step from
	case s.now == 0:
		s.now = 1
	}
	s.now = min(max(want, s.now/speedStep), s.now*speedStep)
	if say := s.say(); say != s.said {
		s.said = say
		e.touch(now)
	}
}

// say is the speed as it is told: what is not far from what was, or from 1, is no news.
func (s *speed) say() float64 {
	switch {
	case !far(s.now, 1):
		return 0
	case s.said > 0 && !far(s.now, s.said):
		return s.said
	}
	return s.now
}

func far(a, b float64) bool { return a > b*(1+speedTold) || b > a*(1+speedTold) }
