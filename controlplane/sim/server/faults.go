package server

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// Fault is something that goes wrong for a while. Times are µs since the run begins.
type Fault struct {
	Kind     FaultKind
	From, To int64
	Part     float64 // of requests, or of pushes; 0: all
	Factor   float64 // of speed, for Slow
}

// FaultKind says what goes wrong.
type FaultKind uint8

// The faults (simulator.md, Model). Stale and Away are the control plane's.
const (
	Slow      FaultKind = iota + 1 // its speed × Factor, of what is under way too
	FailFast                       // a 503 after 50 ms
	Hang                           // no answer, and no end of it
	Cut                            // the answer breaks in its middle
	Throttle                       // 429
	Exhausted                      // 429 until the end of the fault, with Retry-After
	Black                          // connections are refused, what was under way is reset; caches are empty after it
	Cold                           // it joins at To: black before
	Wrong                          // invalid answers
	Stale                          // pushes are lost
	Away                           // nothing is reported, judged or pushed
	faultKinds
)

// Check tells every fault of a fault.
func (f *Fault) Check() error {
	var found findings
	if f.Kind == 0 || f.Kind >= faultKinds {
		found.add("kind: there is no fault %d", f.Kind)
	}
	if f.From < 0 || f.To <= f.From {
		found.add("a fault from %d µs to %d µs never is: let it end after it began", f.From, f.To)
	}
	found.part("part", f.Part)
	if f.Kind == Slow && !(f.Factor > 0 && f.Factor <= 1e6) {
		found.add("factor: %v is no speed: say one above 0, as 0.3", f.Factor)
	}
	return found.err()
}

// verdict is how an attempt ends, if nothing else happens. Of several the last one counts.
type verdict uint8

const (
	served verdict = iota
	cut
	refusing // those after it are not even begun
	failing
	throttled
	exhausted
	tooLong
	hung
	down
	reset
	verdicts
)

// doing is what each kind of fault makes of an attempt.
var doing = [faultKinds]verdict{FailFast: failing, Hang: hung, Cut: cut, Throttle: throttled, Exhausted: exhausted, Black: down, Cold: down}

// delays are how long refusals take, µs: a packet's way there and back, or a front that
// answers for the engine.
var delays = [verdicts]int64{failing: 50_000, throttled: 50_000, exhausted: 50_000, tooLong: 50_000, down: 1000}

// outcomes are as clientlib finds them.
var outcomes = [verdicts]route.Outcome{
	served:    {Kind: route.Served, Status: 200, HasUsage: true},
	cut:       {Kind: route.Faulted, Detail: "cut"},
	failing:   {Kind: route.Faulted, Status: 503},
	throttled: {Kind: route.Limited, Status: 429},
	exhausted: {Kind: route.Limited, Status: 429},
	tooLong:   {Kind: route.TooLong, Status: 400},
	down:      {Kind: route.Faulted, Detail: "refused"},
	reset:     {Kind: route.Faulted, Detail: "reset"},
}

func (j *Job) outcome() route.Outcome {
	o := outcomes[j.verdict]
	if o.Kind == route.Limited {
		o.RetryAfter = j.retry
	}
	if o.HasUsage {
		o.Usage = money.Usage{Input: j.Input, Cached: j.Cached, Output: j.Output}
	}
	return o
}

// timeline is one endpoint's faults.
type timeline struct {
	faults []Fault
	turns  []int64 // when any begins or ends, still to come
	next   int64   // of them
	seed   uint64
	down   bool
}

func newTimeline(seed uint64, faults []Fault) timeline {
	t := timeline{faults: faults, seed: seed}
	for i := range faults {
		t.turns = append(t.turns, faults[i].From, faults[i].To)
	}
	slices.Sort(t.turns)
	t.turns = slices.Compact(t.turns)
	t.await()
	return t
}

func (t *timeline) await() {
	t.next = Never
	if len(t.turns) > 0 {
		t.next = t.turns[0]
	}
}

// turn tells the factor of the speed from now on, and whether it is now that all breaks down.
func (t *timeline) turn(now int64) (factor float64, falls bool) {
	t.turns = t.turns[1:]
	t.await()
	factor, before := 1, t.down
	t.down = false
	for i := range t.faults {
		switch f := &t.faults[i]; {
		case !f.at(now):
		case f.Kind == Slow:
			factor *= f.Factor
		case doing[f.Kind] == down:
			t.down = true
		}
	}
	return factor, t.down && !before
}

func (f *Fault) at(now int64) bool { return f.From <= now && now < f.To }

// judge tells a job what the faults of now make of it.
func (t *timeline) judge(now int64, j *Job) {
	for i := range t.faults {
		f := &t.faults[i]
		if !f.at(now) || !t.hits(now, j, i) {
			continue
		}
		j.verdict = max(j.verdict, doing[f.Kind])
		j.invalid = j.invalid || f.Kind == Wrong
		if f.Kind == Exhausted {
			j.retry = max(j.retry, said(f.To-now))
		}
	}
}

// hits draws from the request, the endpoint and the time: a second try has luck of its own.
func (t *timeline) hits(now int64, j *Job, i int) bool {
	f := &t.faults[i]
	if f.Part <= 0 || doing[f.Kind] == down {
		return true
	}
	return luck(lot(t.seed, now, j), ofFault+uint64(i)) < f.Part
}

func lot(seed uint64, now int64, j *Job) uint64 {
	return mix(mix(seed+uint64(now)) + uint64(j.Chance))
}

// said is a wait as a Retry-After tells it: in whole seconds.
func said(wait int64) int64 { return (wait + second - 1) / second * second }
