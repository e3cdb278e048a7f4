package breaker

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestWhatAPickReadsAndWhatASuccessCountsAreOneCacheLine(t *testing.T) {
	var b Breaker
	if end := unsafe.Offsetof(b.pending) + unsafe.Sizeof(b.pending); end != 64 {
		t.Errorf("what is pending ends at %d", end)
	}
	if unsafe.Sizeof(tally{}) != 64 || unsafe.Offsetof(evidence{}.owed) != 64 {
		t.Errorf("a tally has %d bytes, the first one lies at %d", unsafe.Sizeof(tally{}), unsafe.Offsetof(evidence{}.owed))
	}
}

func TestASuccessThatChangesNothingTouchesNoWindow(t *testing.T) {
	var b Breaker
	b.SetPolicy(&Policy{Window: 5e6, SlowWindow: 60e6, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5, TTFTLimit: 10e6})
	s := Sample{Classes: Any.Set() | Tools.Set(), Pace: OnTime}
	b.Record(0, 0, s)
	for now := range int64(625_000) {
		if now%5000 == 0 && !b.quiet(now, s) {
			t.Fatalf("at %d a success counts at once", now)
		}
	}
	if b.quiet(625_000, s) {
		t.Error("the cell has ended, and a success does not see to it")
	}
	failed := s
	failed.Failed, failed.Pace = true, NoPace
	b.Record(1, 0, failed)
	if b.quiet(2, s) {
		t.Error("a success that ends a run does not count at once")
	}
	b.Record(2, 0, s)
	if !b.quiet(3, s) {
		t.Error("one failure of three, below min_samples, keeps successes from being pending")
	}
}

func TestMoreSuccessesThanMayPendAreCounted(t *testing.T) {
	var b Breaker
	b.SetPolicy(&Policy{Window: 5e6, SlowWindow: 60e6, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5})
	const n = 70_000 // above 2^8, and 2^16
	for range n {
		b.Record(0, 0, Sample{Classes: Any.Set()})
	}
	b.flush()
	for i, w := range b.evidence.windows {
		if got := w.sums.ok[Admit][Any]; got != n {
			t.Errorf("window %d: %d of %d", i, got, n)
		}
	}
}

func TestTheSlowWindowGainsWhenItsCellEnds(t *testing.T) {
	var b Breaker
	b.SetPolicy(&Policy{Window: 5e6, SlowWindow: 60e6, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5})
	ok := func() uint32 { return b.evidence.windows[slow].sums.ok[Finish][Any] }
	s := Sample{Classes: Any.Set(), Phase: Finish}
	for _, now := range []int64{0, 1, 700_000, 1_400_000} {
		if b.Record(now, 0, s); ok() != 0 {
			t.Errorf("at %d it has %d", now, ok())
		}
	}
	b.Record(7_500_000, 0, s)
	if ok() != 4 {
		t.Errorf("when the cell has ended it has %d", ok())
	}
}

func TestCountsEndWithoutWrapping(t *testing.T) {
	var w sliding
	for range 3 {
		w.add(&w.cells[0], paces, Tools, counts{ok: most - 1, bad: most - 1})
	}
	if got := w.sums; got.ok[paces][Tools] != most || got.bad[paces][Tools] != most || got != w.cells[0] {
		t.Errorf("%d ok, %d bad, want %d", got.ok[paces][Tools], got.bad[paces][Tools], most)
	}
}

// 1,024 endpoints in random order, every set of classes: within one cell of the windows,
// and with 20,000 attempts a second, so that each cell sees a dozen of an endpoint.
func BenchmarkRecord(b *testing.B) {
	for _, v := range []struct {
		name string
		step int64
	}{{"pending", 0}, {"sliding", 25}} {
		b.Run(v.name, func(b *testing.B) { benchmarkRecord(b, v.step) })
	}
}

func benchmarkRecord(b *testing.B, step int64) {
	all := make([]Breaker, 1024)
	p := &Policy{Window: 5e6, SlowWindow: 60e6, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5, TTFTLimit: 10e6}
	for i := range all {
		all[i].SetPolicy(p)
	}
	type order struct {
		b *Breaker
		s Sample
	}
	orders, rnd := make([]order, 4096), rand.New(rand.NewPCG(1, 2))
	for i := range orders {
		s := Sample{Classes: ClassSet(rnd.UintN(8))<<1 | Any.Set(), Phase: Phase(i & 1)}
		if s.Phase == Admit {
			s.Pace = OnTime
		}
		orders[i] = order{&all[rnd.IntN(len(all))], s}
	}
	b.ReportAllocs()
	now := int64(1)
	for i := 0; b.Loop(); i++ {
		o := &orders[i%len(orders)]
		now += step
		o.b.Record(now, 7, o.s)
	}
}
