package route

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWordsThatMoveLoadsAloneLeaveNothingBehind: after any words, and however old the ones before them
// were, what is noted of an endpoint is what a look at it finds.
func TestWordsThatMoveLoadsAloneLeaveNothingBehind(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := small()
	for i := range c.Endpoints {
		c.Endpoints[i].Weight = Absent
	}
	r, now := NewRouter(), int64(second)
	s := made(t, nil, c, nil)
	r.Apply(now, s)
	for range 20_000 {
		now += rng.Int64N(20 * second)
		f := &Fleet{}
		for i := range c.Endpoints {
			if rng.IntN(20) > 0 {
				f.Endpoints = append(f.Endpoints, anyRow(rng, now, &c.Endpoints[i]))
			}
		}
		s = made(t, s, c, f)
		r.Apply(now, s)
		r.pass(now)
		for place, l := range r.current {
			bits, share, _ := l.look(now)
			if r.states.bits[place] != bits || r.states.shares[place] != share {
				t.Fatalf("%s: noted %b, %d; found %b, %d", l.name, r.states.bits[place], r.states.shares[place], bits, share)
			}
			if held := l.heldBy(allClasses) != 0; held && l.lost == 0 && bits&stateDrained == 0 && bits&(1<<stateHard-1) == 0 {
				t.Fatalf("%s: held, and nothing refuses", l.name)
			}
		}
	}
}

// anyRow says in three of four what it said before of breakers and of speed: nothing.
func anyRow(rng *rand.Rand, now int64, e *Endpoint) FleetEndpoint {
	row := FleetEndpoint{Name: e.Name, Identity: e.Identity, At: now - rng.Int64N(40*second)}
	row.Loads = []FleetLoad{{InFlight: rng.Uint64N(9)}}
	if rng.IntN(4) > 0 {
		return row
	}
	row.Speed = float64(rng.IntN(3))
	row.Breakers = []FleetBreaker{{
		State: FleetState(rng.IntN(4)), Round: rng.Uint64N(5), OpenUntil: now + rng.Int64N(9*second) - second, RampFrom: now - rng.Int64N(9*second), RampFor: 5 * second,
	}}
	return row
}

// TestAReportIsTheSameInTheMemoryOfAnother holds Drain to what Report says.
func TestAReportIsTheSameInTheMemoryOfAnother(t *testing.T) {
	x, y := newTeller(t, nil), newTeller(t, nil)
	var used Report
	for i := range 50 {
		for k := range 1 + i%4 {
			for _, z := range []*teller{x, y} {
				a := z.send(int64(1000 + 20_000*(k%2)))
				z.settle(a, int64(k+1)*1000, Outcome{Kind: Served})
				if k == 2 {
					z.send(10)
				}
			}
		}
		used = Report{Rows: used.Rows[:0]}
		for !x.router.Drain(x.now, &used) {
		}
		if diff := cmp.Diff(y.router.Report(y.now).Rows, used.Rows, cmp.Transformer("", func(b []Bucket) []Bucket { return append([]Bucket{}, b...) })); diff != "" {
			t.Fatal(diff)
		}
	}
}
