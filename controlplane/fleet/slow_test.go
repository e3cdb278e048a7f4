package fleet

import (
	"math"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

// slowRow is nine answers that took so many times as long as their inputs explain.
func slowRow(times float64) *route.Row {
	return &route.Row{Finished: 9, WaitedUS: uint64(times * 3e6), ExplainedUS: 3e6}
}

func TestALyingLeafMovesASlowdownByAFewSamples(t *testing.T) {
	var honest, lied slowness
	for range 20 {
		honest.add(second, slowRow(1.5))
		lied.add(second, slowRow(1.5))
	}
	for _, r := range []route.Row{
		{Finished: math.MaxUint64, WaitedUS: math.MaxUint64, ExplainedUS: 1},
		{Finished: math.MaxUint64, WaitedUS: 1, ExplainedUS: math.MaxUint64},
	} {
		lied.add(second, &r)
	}
	was, _ := honest.tell(second)
	is, n := lied.tell(second)
	if was != 1.5 || is < 1 || is > 2 || n != 20*9+mostExplained/firstUS+1./firstUS {
		t.Errorf("%g became %g, of %g samples", was, is, n)
	}
}

func TestARowWithoutWaitsIsNoSlowdown(t *testing.T) {
	var s slowness
	for _, r := range []route.Row{{Finished: 9}, {Finished: 9, WaitedUS: 5}, {Finished: 9, ExplainedUS: 5}} {
		s.add(second, &r)
	}
	if slowdown, n := s.tell(second); slowdown+n != 0 {
		t.Errorf("%g of %g", slowdown, n)
	}
}

func TestALateRowCountsForWhatIsLeftOfIt(t *testing.T) {
	var s slowness
	s.add(20*second, slowRow(1))
	s.add(10*second, slowRow(4))
	if slowdown, n := s.tell(20 * second); slowdown != 2 || n != 13.5 {
		t.Errorf("%g of %g, want 2 of 13.5", slowdown, n)
	}
	if _, n := s.tell(30 * second); n != 6.75 {
		t.Errorf("%g are left ten seconds later", n)
	}
}

func TestWhatAValidatorRefusedWasNotServed(t *testing.T) {
	s := &site{okAt: okHalf}
	s.succeed(okHalf, &route.Row{Finished: 6, AdmitFailed: 1, FinishFailed: 1, Invalid: 2, Limited: 9, Excluded: 9})
	if s.success != 6 || s.samples != 10 {
		t.Errorf("%g of %g served, want 6 of 10", s.success, s.samples)
	}
}
