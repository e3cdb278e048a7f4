package route

import (
	"errors"
	"fmt"
	"math"
)

// Way says how an endpoint was found. Its values are stable.
type Way uint8

// The ways.
const (
	WayNone  Way = iota // nothing was left
	WayDrawn            // by the strategy
	WayHome             // by affinity
	WaySame             // the endpoint of the last attempt again
	WayProbe            // by a permit, or by this process's own half-open
	ways
)

var wayNames = [ways]string{"none", "drawn", "home", "same", "probe"}

func (w Way) String() string {
	if w < ways {
		return wayNames[w]
	}
	return "unknown"
}

// Record is one decision, with all that it was made of: Replay makes it again. It holds no
// more than 256 bytes.
type Record struct {
	Revision, Generation uint64
	At                   int64 // µs
	Seed                 uint32
	Tie                  uint32 // the draw that broke a tie, below 2^31 for the first
	Refused              uint32 // reasons of draws that a gate refused: bit 1 << Reason
	Refusals             uint8  // how many draws it refused
	Strategy             Strategy
	StrategyVersion      uint8
	Way                  Way
	Attempt              uint8 // of its call, from 1
	Drawn                uint8 // how many of the candidates count
	Chosen               uint8 // which
	Known                [2]Known
	Liking                       // of the one, where the strategy does
	Bias                 float64 // the second wins when its score × this is below the first's; 0: 1
	Candidates           [2]Drawn
}

// Drawn is a candidate that passed every gate, and what its score was made of. Of a way
// without scores only the endpoint is there.
type Drawn struct {
	Endpoint string
	Inputs
}

// Known is how much there is behind a candidate's inputs, and how old it is. It stands beside
// them for the size's sake.
type Known struct {
	RowAge    uint32 // ms since the fleet's row was true; 0: there is none
	SampleAge uint32 // ms since the latest latency sample; 0: there is none
	Samples   uint32
}

// Endpoint is where the call went; empty: nowhere.
func (d *Record) Endpoint() string { return d.Candidates[d.Chosen&1].Endpoint }

// Score is a candidate's, by the record's strategy.
func (d *Record) Score(i int) float64 { return d.Strategy.score(&d.Candidates[i].Inputs) }

// ErrReplay is what Replay's errors are: the record is of a version that decides otherwise.
var ErrReplay = errors.New("not replayable")

// Replay decides again, from the record alone, and names the endpoint.
func Replay(d *Record) (string, error) {
	if d.Strategy == NoStrategy || d.Strategy >= strategies || d.StrategyVersion != d.Strategy.Version() {
		return "", fmt.Errorf("%w: strategy %v version %d", ErrReplay, d.Strategy, d.StrategyVersion)
	}
	if d.Drawn < 2 {
		return d.Endpoint(), nil
	}
	return d.Candidates[better(d.Score(0), d.Score(1), d.Bias, d.Tie)].Endpoint, nil
}

// better is which of two scores wins. The draw breaks a tie; with a bias there is none, and the
// first wins unless the second does.
func better(a, b, bias float64, tie uint32) uint8 {
	if biased(bias) {
		b = float64(bias * b)
		tie = 0
	}
	if b < a || b == a && tie >= 1<<31 {
		return 1
	}
	return 0
}

// biased tells whether a bias is one: 0 is 1.
func biased(bias float64) bool { return bias != 0 && bias != 1 }

// choice is what the decision at hand was made of.
type choice struct {
	work    *work
	call    *Call
	now     int64
	way     Way
	drawn   uint8
	chosen  uint8
	seed    uint32
	tie     uint32
	refused uint32
	misses  uint8
	trials  [2]trial
	liking  Liking
	bias    float64 // of two trials; 0: 1
	band    int     // of cost_tiered, what was chosen is of
	home    uint8   // it is the key's first home, or its second; 0: neither
	beyond  int     // the number of the only band that is asked, from 1: no other is for the call; 0: all that are
}

// trial is a candidate: where it is, and what its score is made of.
type trial struct {
	place int32
	Inputs
}

// begin forgets the choice before.
func (c *choice) begin(now int64, seed uint32, w *work, call *Call) {
	c.work, c.call, c.now, c.seed = w, call, now, seed
	c.way, c.drawn, c.chosen, c.tie, c.refused, c.misses, c.bias = WayNone, 0, 0, 0, 0, 0, 0
	c.band, c.home, c.beyond = 0, 0, 0
}

// decide notes which of the two trials is better, by their scores, and gives its place. A tie
// takes a draw.
func (c *choice) decide(d *draws, first, second float64) int32 {
	if first == second && !biased(c.bias) {
		c.tie = d.next()
	}
	c.drawn, c.chosen = 2, better(first, second, c.bias, c.tie)
	return c.trials[c.chosen].place
}

// found notes an endpoint that was found without scores.
func (c *choice) found(way Way, place int32) int32 {
	if place != nowhere {
		c.way, c.drawn, c.chosen, c.trials[0] = way, 1, 0, trial{place: place}
	}
	return place
}

func (c *choice) refuse(reason Reason) {
	c.refused |= 1 << reason
	c.misses++
}

// Decision is the record of the latest Next that looked for an endpoint. It is to be asked
// for before anything else.
func (r *Router) Decision() Record {
	c := &r.choice
	if c.work == nil || r.snapshot == nil {
		return Record{}
	}
	v := r.snapshot.Version()
	d := Record{
		Revision: v.Revision, Generation: v.Generation, At: c.now, Seed: c.seed, Tie: c.tie, Refused: c.refused, Refusals: c.misses,
		Strategy: c.work.compiled.spec.Strategy, StrategyVersion: c.work.compiled.spec.Strategy.Version(),
		Way: c.way, Attempt: c.call.attempts, Drawn: c.drawn, Chosen: c.chosen,
	}
	if d.Way == WayDrawn && d.Strategy.likes() {
		d.Liking = c.liking
	}
	if d.Drawn == 2 {
		d.Bias = c.bias
	}
	for i := range int(c.drawn) {
		t := &c.trials[i]
		l := r.current[t.place]
		d.Candidates[i] = Drawn{Endpoint: l.name, Inputs: t.Inputs}
		d.Known[i] = l.evidence(c.now, r.measured(c.work, t.place)).known()
	}
	return d
}

func (e Evidence) known() Known {
	return Known{millis(e.RowAge), millis(e.SampleAge), uint32(min(e.Samples, math.MaxUint32))}
}

// millis is an age in whole ms, at least 1: 0 is none.
func millis(us int64) uint32 {
	if us == Absent {
		return 0
	}
	return uint32(min(max(us/1000, 1), math.MaxUint32))
}
