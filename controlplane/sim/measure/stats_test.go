package measure

import (
	"math"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 5e-4*math.Abs(b) }

func TestAMeanHasTheIntervalOfStudentsT(t *testing.T) {
	// Ten values with the standard deviation 3.0277: 2.2622 × 3.0277 ÷ √10.
	mean, half := Mean([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	if mean != 5.5 || !near(half, 2.1659) {
		t.Errorf("%g ± %g", mean, half)
	}
	if mean, half := Mean([]float64{7}); mean != 7 || !math.IsNaN(half) {
		t.Errorf("%g ± %g of one value", mean, half)
	}
	for freedom, want := range map[int]float64{1: 12.7062, 30: 2.0423, 35: 2.0301, 50: 2.0086, 100: 1.9840, 999: 1.9623} {
		if got := student(freedom); !near(got, want) {
			t.Errorf("%d degrees of freedom: %g, want %g", freedom, got, want)
		}
	}
}

func TestWhatASeedDoesToBothCancelsInAPairedRatio(t *testing.T) {
	ratio, low, high := Paired([]float64{1, 10, 100}, []float64{2, 20, 200})
	if !near(ratio, 0.5) || !near(low, 0.5) || !near(high, 0.5) {
		t.Errorf("%g, %g to %g", ratio, low, high)
	}
	// Logarithms ∓0.2 around log 2: 12.7062 × 0.2828 ÷ √2.
	ratio, low, high = Paired([]float64{2 * math.Exp(0.2), 2 * math.Exp(-0.2)}, []float64{1, 1})
	if !near(ratio, 2) || !near(high, 2*math.Exp(12.7062*0.2)) || !near(low, 2*math.Exp(-12.7062*0.2)) {
		t.Errorf("%g, %g to %g", ratio, low, high)
	}
}

func TestARatioToNothingHasNoInterval(t *testing.T) {
	ratio, low, _ := Paired([]float64{0, 2}, []float64{1, 3})
	if ratio != 0.5 || !math.IsNaN(low) {
		t.Errorf("%g from %g", ratio, low)
	}
	if ratio, _, _ := Paired([]float64{1}, []float64{0}); !math.IsInf(ratio, 1) {
		t.Errorf("%g of nothing", ratio)
	}
	for _, b := range [][]float64{{0}, nil} {
		if ratio, _, _ := Paired([]float64{0}, b); !math.IsNaN(ratio) {
			t.Errorf("%g of nothing by nothing", ratio)
		}
	}
}

func TestJainsIndexIsOneOverNWhereOneHasAll(t *testing.T) {
	for want, values := range map[float64][]float64{0.25: {8, 0, 0, 0}, 1: {3, 3, 3}, 0.9: {1, 2}} {
		if got := jain(values); !near(got, want) {
			t.Errorf("%v: %g, want %g", values, got, want)
		}
	}
}
