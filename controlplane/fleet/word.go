package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

const (
	mostSteps  = 32
	rampEnough = 50 // fleet successes that end a ramp; fewer do in twice the time
	wordKept   = 60 * minute
)

// scope is one class, in one locality or everywhere.
type scope struct {
	class      breaker.Class
	everywhere bool
	locality   string
}

// word is the fleet's word on a scope of an endpoint.
type word struct {
	scope
	comeback

	state     route.FleetState
	phase     breaker.Phase
	soft      bool
	evidence  string
	round     uint64 // when it last opened, or began to ramp
	cleared   uint64 // votes of older rounds count no more
	steps     int    // how often the cooldown has doubled, plus one
	openUntil int64
	closedAt  int64
}

// comeback is how far a word's return has got: its permits, then its ramp.
type comeback struct {
	quietUntil int64 // no permits before: another leader's may be under way
	good       int64
	permits    []*permit
	rampFrom   int64
	rampGood   uint64
}

func (w *word) holds() bool { return w.state == route.FleetOpen || w.state == route.FleetHalfOpen }

// covers tells whether all that v speaks of is w's to say.
func (w *word) covers(v *word) bool {
	return w.speaksOf(v.class, v.locality) && (w.everywhere || !v.everywhere)
}

func (s scope) speaksOf(c breaker.Class, locality string) bool {
	return (s.class == breaker.Any || s.class == c) && s.in(locality)
}

func (s scope) in(locality string) bool { return s.everywhere || s.locality == locality }

func (w *word) compare(v *word) int {
	return cmp.Or(cmp.Compare(w.class, v.class), -cmp.Compare(bit(w.everywhere), bit(v.everywhere)), cmp.Compare(w.locality, v.locality))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (e *endpoint) word(c breaker.Class, locality string, everywhere bool) *word {
	if everywhere {
		locality = ""
	}
	w := &word{scope: scope{c, everywhere, locality}}
	i, ok := slices.BinarySearchFunc(e.words, w, (*word).compare)
	if !ok {
		e.words = slices.Insert(e.words, i, w)
	}
	return e.words[i]
}

// refuses tells whether requests of a class are held back in a locality, by a hard word
// if that is asked.
func (e *endpoint) refuses(c breaker.Class, locality string, hard bool) bool {
	return slices.ContainsFunc(e.words, func(w *word) bool {
		return w.holds() && w.speaksOf(c, locality) && !(hard && w.soft)
	})
}

// cleared is the round below which votes on a class count no more.
func (e *endpoint) cleared(c breaker.Class, locality string) (round uint64) {
	for _, w := range e.words {
		if w.speaksOf(c, locality) {
			round = max(round, w.cleared)
		}
	}
	return round
}

func (e *endpoint) held() bool { return slices.ContainsFunc(e.words, (*word).holds) }

func (e *endpoint) speaks() bool {
	return e.speed.said != 0 || slices.ContainsFunc(e.words, func(w *word) bool { return w.state != route.FleetClosed })
}

// open opens a class in a site's locality, or everywhere once enough localities are open.
func (f *Fleet) open(now int64, s *site, found finding) {
	e := s.endpoint
	using := e.using(now)
	if len(using) > 1 && s.locality == "" {
		return // leaves that name no locality, beside others that do, have no word of their own
	}
	w := e.word(found.class, s.locality, len(using) <= 1)
	if found.soft && !e.spares(now, found.class, w) {
		return
	}
	f.trip(now, e, w, found)
	if w.everywhere {
		return
	}
	open, soft := e.opened(found.class, using)
	wide := e.word(found.class, "", true)
	if len(open) < localitiesFor(len(using)) || soft && !e.spares(now, found.class, wide) {
		return
	}
	found.soft = soft
	found.evidence = fmt.Sprintf("open in %d of %d localities: %s", len(open), len(using), strings.Join(open, ", "))
	f.trip(now, e, wide, found)
}

// using are the localities with witnesses.
func (e *endpoint) using(now int64) (out []string) {
	out = e.legacy.localities(now)
	for _, s := range e.sites {
		if slices.ContainsFunc(s.witnesses, func(w *witness) bool { return w.uses(now) && w.node.leaves > 0 }) {
			out = append(out, s.locality)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// opened are the localities that hold a class, and whether all do so softly.
func (e *endpoint) opened(c breaker.Class, localities []string) (out []string, soft bool) {
	soft = true
	for _, l := range localities {
		if e.refuses(c, l, false) {
			out = append(out, l)
		}
	}
	for _, w := range e.words {
		if w.holds() && (w.class == breaker.Any || w.class == c) {
			soft = soft && w.soft
		}
	}
	return out, soft
}

// trip opens a word, or opens it again: then, or out of a ramp, for twice as long.
func (f *Fleet) trip(now int64, e *endpoint, w *word, found finding) {
	if w.state == route.FleetClosed {
		w.steps = int(max(int64(w.steps)-(now-w.closedAt)/minute, 0))
	}
	for _, v := range e.words {
		switch {
		case v == w:
		case w.covers(v) && v.state != route.FleetClosed:
			w.steps = max(w.steps, v.steps-bit(v.holds()))
			v.end(now)
			f.tell(now, e, v, Event{Kind: Closed, Evidence: "a wider word took over"})
		case v.covers(w) && v.state == route.FleetRamp:
			w.steps = max(w.steps, v.steps)
		}
	}
	if w.state != route.FleetOpen { // else only harder than it was
		w.steps = min(w.steps+1, mostSteps)
	}
	e.round++
	w.state, w.round, w.permits, w.good = route.FleetOpen, e.round, nil, 0
	w.phase, w.soft, w.evidence = found.phase, found.soft, found.evidence
	w.openUntil = max(w.openUntil, now+e.spec.Breaker.CooldownAt(w.steps))
	f.urgent, f.troubled[e.spec.Provider] = true, true
	f.changed(now, e, w, Event{Kind: Opened, Evidence: w.evidence})
}

// past tells whether nothing about a word matters any more.
func (w *word) past(now int64) bool {
	return w.state == route.FleetClosed && now-w.closedAt >= wordKept
}

// end closes a word: a wider one took over, or its ramp is over.
func (w *word) end(now int64) {
	w.state, w.permits, w.good, w.closedAt = route.FleetClosed, nil, 0, now
}

// changed starts evidence afresh where a word began another round, and tells of it.
func (f *Fleet) changed(now int64, e *endpoint, w *word, v Event) {
	for _, s := range e.sites {
		if (v.Kind == Opened || v.Kind == Ramping) && w.in(s.locality) {
			s.renew(now, w.class)
		}
	}
	e.touch(now)
	f.due = 0
	f.tell(now, e, w, v)
}

// step moves a word as time does, and says when it may move again.
func (f *Fleet) step(now int64, e *endpoint, w *word) (next int64) {
	p := &e.spec.Breaker
	switch w.state {
	case route.FleetOpen:
		if now < w.openUntil {
			return w.openUntil
		}
		w.state = route.FleetHalfOpen
		f.changed(now, e, w, Event{Kind: HalfOpened, Evidence: "cooldown over"})
		return f.probe(now, e, w)
	case route.FleetHalfOpen:
		return f.probe(now, e, w)
	case route.FleetRamp:
		end := w.rampFrom + p.Ramp
		if w.rampGood < rampEnough {
			end += p.Ramp
		}
		if now < end {
			return end
		}
		w.end(now)
		f.changed(now, e, w, Event{Kind: Closed, Evidence: fmt.Sprintf("%d successes in the ramp", w.rampGood)})
	}
	return now + sweepEvery
}

// ramp begins the return: local trips of older rounds clear, and are votes no more.
func (f *Fleet) ramp(now int64, e *endpoint, w *word) {
	e.round++
	w.state, w.round, w.cleared, w.permits = route.FleetRamp, e.round, e.round, nil
	w.rampFrom, w.rampGood = now, 0
	for _, s := range e.sites {
		if w.in(s.locality) {
			s.recall(now)
		}
	}
	f.changed(now, e, w, Event{Kind: Ramping, Evidence: fmt.Sprintf("%d good probes in a row", w.good)})
}

// ramped counts the fleet's successes of words that ramp.
func (e *endpoint) ramped(r *route.Row, locality string) {
	for _, w := range e.words {
		if w.state == route.FleetRamp && w.class == r.Class && w.speaksOf(r.Class, locality) {
			w.rampGood += min(r.Admitted, mostRows)
			e.mark()
		}
	}
}

// adopt goes on from a row that this replica held when it became leader.
func (f *Fleet) adopt(now int64, row *route.FleetEndpoint) {
	e := f.known(row.Name, row.Identity)
	if e == nil {
		return
	}
	for _, b := range row.Breakers {
		if b.Class >= breaker.Classes || b.Round >= maxRound {
			continue
		}
		w := e.word(b.Class, b.Locality, b.Locality == "")
		w.state, w.round, w.soft, w.evidence = b.State, b.Round, b.Soft, b.Reason
		w.openUntil, w.rampFrom, w.rampGood, w.steps = b.OpenUntil, b.RampFrom, b.RampSuccesses, 1
		w.closedAt, w.quietUntil = now, now+useWithin+grace
		if b.State == route.FleetRamp || b.State == route.FleetClosed {
			w.cleared = b.Round
		}
		e.round = max(e.round, b.Round)
	}
	if now-row.At < silence {
		e.legacy.take(f.judges, row.Loads)
	}
	if row.Speed > 0 {
		e.speed.now = min(max(row.Speed, slowest), fastest)
		e.speed.said = e.speed.now
	}
	e.touch(now)
}
