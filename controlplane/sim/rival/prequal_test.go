package rival

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
)

// Prequal's rule, line by line (NSDI 2024, section 4).
func TestHotColdRule(t *testing.T) {
	healthy := func(flight int32, latency int64) probe { return probe{flight: flight, latency: latency, health: 1} }
	ill := func(flight int32, latency int64, health float64) probe {
		return probe{flight: flight, latency: latency, health: health}
	}
	for _, c := range []struct {
		rule   string
		probes []probe
		limit  int32
		want   int
	}{
		{"the least latency among cold ones", []probe{healthy(3, 900), healthy(5, 400), healthy(1, 700)}, 5, 1},
		{"the hot one is not taken though it is fast", []probe{healthy(6, 100), healthy(5, 400), healthy(1, 700)}, 5, 1},
		{"all hot: the least in flight", []probe{healthy(9, 100), healthy(7, 400), healthy(8, 50)}, 5, 1},
		{"no latency counts as the mean", []probe{healthy(0, 0), healthy(1, 400), healthy(1, 700)}, 5, 1},
		{"no latency is better than a bad one", []probe{healthy(0, 0), healthy(1, 600), healthy(1, 400), healthy(9, 5)}, 0, 0},
		{"who fails must not look fast", []probe{ill(1, 100, 0.2), healthy(1, 400)}, 5, 1},
		{"who fails half the time comes last", []probe{ill(1, 1, 0.125), healthy(9, 400)}, 5, 1},
	} {
		d := drawsOf(1)
		if got := choose(c.probes, c.limit, &d); got != c.want {
			t.Errorf("%s: %d, want %d", c.rule, got, c.want)
		}
	}
}

func TestReuseFormula(t *testing.T) {
	r := &prequal{tuning: tuning{probes: 3, remove: 1, delta: 1, size: 16}}
	if got := r.reuse(100); math.Abs(got-2/(0.84*3-1)) > 1e-9 {
		t.Error("of 100:", got, "(the paper's 1.32)")
	}
	if got := r.reuse(40); math.Abs(got-2.5) > 1e-9 {
		t.Error("of 40:", got)
	}
	if got := r.reuse(8); got != math.MaxInt32 {
		t.Error("where the pool has room for all, age alone ends a probe:", got)
	}
	d, sum := drawsOf(3), 0.0
	for range 10000 {
		sum += float64(rounded(2.5, &d))
	}
	if mean := sum / 10000; mean < 2.45 || mean > 2.55 {
		t.Error("rounding is wrong on average:", mean)
	}
}

func TestPoolTakesInOneProbeOfAPlaceAndForgetsOldOnes(t *testing.T) {
	tune := &tuning{size: 2, age: 1e6, delay: 1000}
	p := &pool{coming: []probe{{place: 1, at: 0}, {place: 2, at: 10}, {place: 1, at: 20}}}
	p.settle(999, tune)
	if len(p.probes) != 0 {
		t.Error("answers before the round trip:", p.probes)
	}
	p.settle(1020, tune)
	if got, want := placesOf(p), []int32{2, 1}; !cmp.Equal(got, want) {
		t.Error(got, want)
	}
	p.coming = []probe{{place: 3, at: 30}}
	p.settle(1030, tune)
	if got, want := placesOf(p), []int32{1, 3}; !cmp.Equal(got, want) {
		t.Error("a full pool loses its oldest:", got, want)
	}
	p.settle(1_000_021, tune)
	if got, want := placesOf(p), []int32{3}; !cmp.Equal(got, want) {
		t.Error("after a second:", got, want)
	}
}

func TestUseCountsTheQueryAndWearsTheProbe(t *testing.T) {
	p := &pool{probes: []probe{{place: 1, flight: 4, uses: 2}, {place: 2, flight: 4, uses: 2}}, coming: []probe{{place: 1, flight: 5}}}
	p.use(1)
	if p.probes[0].flight != 5 || p.probes[1].flight != 4 || p.coming[0].flight != 6 {
		t.Error(p.probes, p.coming)
	}
	p.use(1)
	if got, want := placesOf(p), []int32{2}; !cmp.Equal(got, want) {
		t.Error("used twice:", got)
	}
}

func TestOldestAndWorstAreRemovedByTurns(t *testing.T) {
	p := &pool{}
	p.recent.add(5)
	for i, b := range []probe{{flight: 1, latency: 10}, {flight: 9, latency: 1}, {flight: 1, latency: 99}, {flight: 8}, {flight: 1}, {flight: 2}} {
		b.place = int32(i)
		p.probes = append(p.probes, b)
	}
	tune := &tuning{remove: 1, quantile: 1}
	for _, want := range [][]int32{{1, 2, 3, 4, 5}, {2, 3, 4, 5}, {3, 4, 5}, {4, 5}, {4, 5}} {
		p.shrink(tune)
		if got := placesOf(p); !cmp.Equal(got, want) {
			t.Error(got, want)
		}
	}
}

func TestQuantileIsOfTheLatestAnswers(t *testing.T) {
	var s samples
	if s.quantile(0.84) != math.MaxInt32 {
		t.Error("without samples all is cold")
	}
	for i := range int32(100) {
		s.add(i + 1)
	}
	if got := s.quantile(0.84); got != 84 {
		t.Error(got)
	}
	for range sampled {
		s.add(7)
	}
	if got := s.quantile(1); got != 7 {
		t.Error("old ones stay:", got)
	}
}

func TestErrorAversionForgetsAnOutcomeInSeconds(t *testing.T) {
	h := newHealth(town(1, 1, 1), 3)
	h.learn(0, 0, route.Faulted)
	h.learn(0, 1, route.Cancelled)
	if h.of(0, 0) != 0.125 || h.of(0, 1) != 1 {
		t.Error(h.of(0, 0), h.of(0, 1))
	}
	left := 1 / (1 + 1/math.E)
	if got, want := h.of(10e6, 0), left*left*left; math.Abs(got-want) > 1e-9 {
		t.Error(got, want)
	}
}

func TestIdlePoolsAskForProbesOnceInTime(t *testing.T) {
	var q timers
	a, b := &pool{probed: 100}, &pool{probed: 200}
	q.add(600, a)
	q.add(700, b)
	a.probed = 150 // by a query since
	q.add(650, a)
	if p := q.due(649, 500); p != nil {
		t.Error("early")
	}
	if p := q.due(650, 500); p != nil {
		t.Error("b stands before a, whose time was put off")
	}
	if p := q.due(700, 500); p != b {
		t.Error("b is due")
	}
	if p := q.due(700, 500); p != a {
		t.Error("a is due")
	}
}

func placesOf(p *pool) []int32 {
	var out []int32
	for _, b := range p.probes {
		out = append(out, b.place)
	}
	return out
}
