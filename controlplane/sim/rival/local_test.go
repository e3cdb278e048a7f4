package rival

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

var chat = &traffic.Arrival{Request: traffic.Request{Workload: "chat"}}

// town is a view of n endpoints without servers.
func town(clients int, shares ...float64) *sim.View {
	v := &sim.View{Seed: 7, Clients: clients, Shares: shares}
	for i := range shares {
		v.Names = append(v.Names, string(rune('a'+i)))
	}
	return v
}

func start(t *testing.T, name string, v *sim.View, settings map[string]float64) sim.Rival {
	t.Helper()
	f, err := New(name, settings)
	if err != nil {
		t.Fatal(err)
	}
	return f(v)
}

func all(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func query(client int32, seed uint32, eligible []int32) *sim.Query {
	return &sim.Query{Client: client, Seed: seed, Arrival: chat, Eligible: eligible}
}

// counts asks n times and sends what is chosen, without an end.
func counts(r sim.Rival, n int, eligible []int32) map[int32]int {
	out := map[int32]int{}
	for i := range n {
		place := eligible[r.Choose(int64(i), query(0, uint32(i)*2654435761, eligible))]
		out[place]++
		r.Sent(int64(i), 0, place, chat)
	}
	return out
}

func TestRoundRobinTakesTurnsAmongTheEligibleAndClientsBeginAnywhere(t *testing.T) {
	r := start(t, "round_robin", town(20, 1, 1, 1, 1), nil)
	if got, want := counts(r, 400, all(4)), (map[int32]int{0: 100, 1: 100, 2: 100, 3: 100}); !cmp.Equal(got, want) {
		t.Error(got)
	}
	if got, want := counts(r, 200, []int32{1, 3}), (map[int32]int{1: 100, 3: 100}); !cmp.Equal(got, want) {
		t.Error(got)
	}
	firsts := map[int]bool{}
	for c := range int32(20) {
		firsts[r.Choose(0, query(c, 0, all(4)))] = true
	}
	if len(firsts) < 3 {
		t.Error("clients begin at", firsts)
	}
}

func TestWeightedRoundRobinKeepsSharesExactlyAndEvenly(t *testing.T) {
	r := newStride(town(1, 1, 1, 1), []float64{0.5, 1, 2})
	if got, want := counts(r, 700, all(3)), (map[int32]int{0: 100, 1: 200, 2: 400}); !cmp.Equal(got, want) {
		t.Error(got)
	}
	for range 100 { // of any seven in a row, four go to the third
		if got := counts(r, 7, all(3))[2]; got != 4 {
			t.Fatal(got, "of 7")
		}
	}
}

func TestWeightedRoundRobinDoesNotCatchUpOnWhoWasAway(t *testing.T) {
	r := newStride(town(1, 1, 1, 1), []float64{1, 1, 1})
	counts(r, 300, []int32{0, 1})
	if got := counts(r, 30, all(3))[2]; got < 9 || got > 12 {
		t.Error(got, "of 30 to the one that came back")
	}
}

func TestWrongWeightsAreTheTrueOnesTurnedRound(t *testing.T) {
	for _, c := range []struct{ of, want []float64 }{
		{[]float64{0.5, 1, 2}, []float64{2, 1, 0.5}},
		{[]float64{2, 0.5, 1, 1}, []float64{0.5, 2, 1, 1}},
		{[]float64{1, 1}, []float64{1, 1}},
	} {
		if got := reversed(c.of); !cmp.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.of, got, c.want)
		}
	}
}

func TestLeastLoadedFillsByShares(t *testing.T) {
	r := start(t, "least_loaded", town(2, 100, 300), nil)
	got := counts(r, 400, all(2))
	if got[0] < 95 || got[0] > 105 {
		t.Error(got)
	}
	r.Sent(0, 1, 0, chat) // another client's does not count, an ended one no more
	for range 100 {
		r.Ended(0, 0, 0, route.Served)
	}
	if i := r.Choose(0, query(0, 1, all(2))); i != 0 {
		t.Error("the empty one is not taken")
	}
}

func TestLeastLoadedDrawsAmongEqualOnes(t *testing.T) {
	r, seen := start(t, "least_loaded", town(1, 1, 1, 1, 1), nil), map[int]int{}
	for i := range uint32(4000) {
		seen[r.Choose(0, query(0, i, all(4)))]++
	}
	for i := range 4 {
		if seen[i] < 900 || seen[i] > 1100 {
			t.Error(seen)
		}
	}
}

func TestLeastLoadedDrawsAmongIdleOnesByWeight(t *testing.T) {
	r, n := start(t, "least_loaded", town(1, 100, 300), nil), 0
	for i := range uint32(4000) {
		n += r.Choose(0, query(0, i, all(2)))
	}
	if n < 2900 || n > 3100 {
		t.Error(n, "of 4000 to the one that can take three times as much")
	}
}

func TestTwoChoicesComparesDifferentOnes(t *testing.T) {
	r := start(t, "p2c_local", town(1, 1, 1, 1), nil)
	r.Sent(0, 0, 2, chat)
	seen := map[int]int{}
	for i := range uint32(3000) {
		seen[r.Choose(0, query(0, i, all(3)))]++
	}
	if seen[2] != 0 || seen[0] < 1400 || seen[1] < 1400 {
		t.Error("the loaded one loses every comparison:", seen)
	}
	if i := r.Choose(0, query(0, 1, []int32{2})); i != 0 {
		t.Error(i, "of one")
	}
}

// Finagle's figures by hand: decay 10 s.
func TestPeakRuleJumpsUpAndDecays(t *testing.T) {
	var m metric
	near := func(step string, want float64) {
		t.Helper()
		if math.Abs(m.cost-want) > 1e-6*max(1, want) {
			t.Errorf("%s: %v, want %v", step, m.cost, want)
		}
	}
	m.observe(0, 300_000, 10e6)
	near("a peak is taken at once", 300_000)
	m.observe(10e6, 0, 10e6)
	near("one time constant later, unasked", 300_000/math.E)
	m.observe(20e6, 100_000, 10e6)
	near("less is averaged in", 300_000/math.E/math.E+100_000*(1-1/math.E))
	m.observe(20e6, 500_000, 10e6)
	near("a peak again", 500_000)
}

func TestPeakLoadIsCostTimesPendingAndAPenaltyBeforeAnyAnswer(t *testing.T) {
	r := start(t, "peak_ewma", town(1, 1, 1), nil).(*peak)
	if l := r.load(0, 0, 0); l != 0 {
		t.Error("unknown and idle:", l)
	}
	r.Sent(0, 0, 0, chat)
	if l := r.load(0, 0, 0); l != float64(math.MaxInt64>>16)+1 {
		t.Error("unknown and busy:", l)
	}
	r.First(1000, 0, 0, 1000)
	if l := r.load(1000, 0, 0); l != 2000 {
		t.Error("1000 µs and one in flight:", l)
	}
	r.Ended(1000, 0, 0, route.Served)
	if l := r.load(1000, 0, 0); l != 1000 {
		t.Error("1000 µs and idle:", l)
	}
}

func TestFailuresTeachPeakNothing(t *testing.T) {
	r := start(t, "peak_ewma", town(1, 1, 1), nil).(*peak)
	r.Sent(0, 0, 0, chat)
	r.First(100, 0, 0, 100)
	r.Ended(100, 0, 0, route.Faulted)
	if m := r.metric(0, 0); m.cost != 100 {
		t.Error(m.cost)
	}
}
