package breaker

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// riot does the same, by chance, to a breaker and to its model.
type riot struct {
	*rand.Rand
	b      Breaker
	m      model
	now    int64
	step   int64
	faults int // of 1,000
	news   int // of the fleet, of 1,000
	rounds []uint64
	probes []uint64
}

func newRiot(seed uint64) *riot {
	r := &riot{Rand: rand.New(rand.NewPCG(seed, 1))}
	r.step = pick[int64](r, 3, 10_000, 300_000, 1_000_000)
	r.faults = pick(r, 0, 5, 30, 100, 600)
	r.news = pick(r, 0, 10, 100)
	r.policy()
	return r
}

func pick[T any](r *riot, from ...T) T { return from[r.IntN(len(from))] }

func (r *riot) policy() {
	spans := []int64{0, 5, 13, 40, 5e6, 7e6, 60e6}
	p := &Policy{
		Window: pick(r, spans...), SlowWindow: pick(r, spans...), MinSamples: r.Int64N(25), Consecutive: r.Int64N(7),
		FailureRatio: pick(r, 0, 0.1, 0.5, 0.9), TTFTLimit: pick[int64](r, 0, 10e6), Cooldown: r.Int64N(5e6), CooldownMax: 60e6,
	}
	r.b.SetPolicy(p)
	r.m.setPolicy(p)
}

// classes are any one set; often that of Any alone.
func (r *riot) classes() ClassSet {
	return pick(r, Any.Set(), Any.Set()|Stream.Set(), ClassSet(r.UintN(8))<<1|Any.Set())
}

// since is the present round, that of a probe, or one of the last.
func (r *riot) since() uint64 {
	if n := len(r.probes); n > 0 && r.b.refused != 0 && r.IntN(2) == 0 {
		return r.probes[n-1]
	}
	if r.IntN(5) > 0 || len(r.rounds) == 0 {
		return r.b.Round()
	}
	return r.rounds[len(r.rounds)-1-r.IntN(min(len(r.rounds), 10))]
}

func (r *riot) sample() Sample {
	s := Sample{Classes: r.classes(), Round: r.since(), Phase: Phase(r.UintN(2)), Failed: r.IntN(1000) < r.faults}
	if s.Failed && r.IntN(3) == 0 {
		s.Phase = Quality
	}
	if s.Phase == Admit && !s.Failed {
		s.Pace = pick(r, NoPace, OnTime, OnTime, OnTime)
		if r.IntN(1000) < r.faults {
			s.Pace = Late
		}
	}
	return s
}

// act does one thing to both, and gives both answers.
func (r *riot) act() (got, want Change) {
	r.now += r.Int64N(r.step)
	draw := r.Uint32()
	switch k := r.IntN(1000); {
	case k == 0:
		r.now += r.Int64N(700e6)
	case k < 3:
		r.policy()
	case k < 20:
		classes, round := r.classes(), r.since()
		return r.b.Overdue(r.now, draw, classes, round), r.m.overdue(r.now, draw, classes, round)
	case k < 20+r.news:
		w := Word{Class: Class(r.UintN(4)), Standing: Standing(r.UintN(4)), Round: uint64(r.UintN(5)) + r.m.word}
		return r.b.Fleet(r.now, draw, w), r.m.fleet(r.now, draw, w)
	case k > 990:
		round := r.since()
		r.b.Return(round)
		r.m.giveBack(round)
	case k > 900 && r.b.refused != 0:
		return r.probe(r.classes()), Change{}
	default:
		s := r.sample()
		return r.b.Record(r.now, draw, s), r.m.record(r.now, draw, s)
	}
	return got, want
}

// probe takes one from both; what differs is told as a change that the model has not.
func (r *riot) probe(classes ClassSet) Change {
	due := r.b.ProbeDue(r.now, classes)
	round, ok := r.b.Probe(r.now, classes)
	wantRound, want := r.m.probe(r.now, classes)
	if due != want || ok != want || round != wantRound {
		return Change{Opened: classes}
	}
	if ok {
		r.probes = append(r.probes, round)
	}
	return Change{}
}

// standing is all that can be asked of either.
type standing struct {
	Round    uint64
	Trips    []Trip
	Refuses  [16]bool
	Soft     [16]bool
	Until    [16]int64
	Outdated [16]bool
}

func (r *riot) standings(round uint64) (got, want standing) {
	got.Round, want.Round = r.b.Round(), r.m.round
	got.Trips, want.Trips = r.b.Trips(nil), r.m.trips()
	for set := range ClassSet(16) {
		got.Refuses[set], got.Soft[set] = r.b.Refuses(set)
		refused, hard := r.m.refused(set)
		want.Refuses[set], want.Soft[set] = refused != 0, refused != 0 && hard == 0
		got.Until[set], want.Until[set] = r.b.Until(set), r.m.until(set)
		got.Outdated[set], want.Outdated[set] = r.b.Outdated(set, round), r.m.outdated(set, round)
	}
	return got, want
}

func TestTheVerdictsAreThoseOfTheListedSamples(t *testing.T) {
	opened, closed, quality := 0, 0, 0
	for seed := range uint64(120) {
		r := newRiot(seed)
		for i := range 700 {
			got, want := r.act()
			if got != want {
				t.Fatalf("seed %d, act %d: %+v, want %+v", seed, i, got, want)
			}
			r.rounds = append(r.rounds, r.b.Round())
			if got == (Change{}) && i%10 > 0 {
				continue
			}
			is, should := r.standings(r.since())
			if diff := cmp.Diff(should, is); diff != "" {
				t.Fatalf("seed %d, act %d (-want +got):\n%s", seed, i, diff)
			}
			opened, closed = opened+int(got.Opened&1), closed+int(got.Closed&1)
			for _, trip := range is.Trips {
				quality += int(trip.Phase / Quality)
			}
		}
	}
	if opened < 200 || closed < 40 || quality < 100 {
		t.Errorf("%d opened, %d closed, %d by quality: it met too little", opened, closed, quality)
	}
}
