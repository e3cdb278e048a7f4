package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAQuantileIsWithinHalfAPercentOfTheExactOne(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, scale := range []float64{20, 3_000, 400_000, 60e6, 5e9} {
		var times Times
		var exact []int64
		for range 20_000 {
			us := int64(scale * math.Exp(rnd.NormFloat64()))
			times.Add(us)
			exact = append(exact, us)
		}
		slices.Sort(exact)
		for _, p := range []float64{0, 0.001, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
			want := float64(exact[max(int(math.Ceil(p*float64(len(exact)))), 1)-1])
			if got := times.Quantile(p); math.Abs(got-want) > 0.005*want {
				t.Errorf("scale %g, p %g: %g, want %g", scale, p, got, want)
			}
		}
	}
}

func TestSmallTimesAndTheEndsAreExact(t *testing.T) {
	var times Times
	for _, us := range []int64{3, 511, 1_000_003, -5} {
		times.Add(us)
	}
	for p, want := range map[float64]float64{0: 0, 0.5: 3, 0.75: 511, 1: 1_000_003} {
		if got := times.Quantile(p); got != want {
			t.Errorf("%g: %g, want %g", p, got, want)
		}
	}
	if times.Mean() != 250_129.25 || times.Count() != 4 || times.Max() != 1_000_003 {
		t.Errorf("%g of %d, at most %d", times.Mean(), times.Count(), times.Max())
	}
}

func TestEveryTimeIsInItsBucket(t *testing.T) {
	for us := int64(0); us < mostTimes; us += 1 + us/97 {
		low, width := edge(bucket(us))
		if us < low || us >= low+width || width > 1 && float64(width) > 0.004*float64(low) {
			t.Fatalf("%d is in %d of %d", us, low, width)
		}
	}
}

func TestThinnedTimesKeepWhatIsAskedFor(t *testing.T) {
	var times Times
	for i := range int64(5_000) {
		times.Add(i * i)
	}
	whole := times
	times.thin()
	for _, p := range []float64{0, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
		if times.Quantile(p) != whole.Quantile(p) {
			t.Errorf("%g: %g, want %g", p, times.Quantile(p), whole.Quantile(p))
		}
	}
	if got, want := times.Quantile(0.873), whole.Quantile(0.873); math.Abs(got-want) > 0.01*want || times.Mean() != whole.Mean() {
		t.Errorf("%g, want %g", got, want)
	}
}

func TestOfNoneThereIsNothing(t *testing.T) {
	var times Times
	if times.Quantile(0.99) != 0 || times.Mean() != 0 {
		t.Error("something of nothing")
	}
	var longest Times
	longest.Add(math.MaxInt64)
	if longest.Max() != mostTimes {
		t.Errorf("%d", longest.Max())
	}
}

func TestMergedTimesAreAsIfCountedTogether(t *testing.T) {
	var a, b, both Times
	for i := range int64(3_000) {
		a.Add(i * 7)
		b.Add(i * i)
		both.Add(i * 7)
		both.Add(i * i)
	}
	a.Merge(&b)
	a.Merge(&Times{})
	for _, p := range []float64{0, 0.2, 0.5, 0.99, 1} {
		if a.Quantile(p) != both.Quantile(p) {
			t.Errorf("%g: %g, want %g", p, a.Quantile(p), both.Quantile(p))
		}
	}
	if a.Mean() != both.Mean() || a.Count() != both.Count() {
		t.Errorf("%g of %d", a.Mean(), a.Count())
	}
}
