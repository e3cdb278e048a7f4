package main

import (
	"math"
	"slices"

	"github.com/pointsman/pointsman/cmd/pointsman/simulate"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// verdict is how a policy does next to another, by the interval of what was paired by seed.
type verdict uint8

const (
	ties verdict = iota
	wins
	loses
)

var verdictWords = [...]string{ties: "ties with", wins: "beats", loses: "loses to"}

func (v verdict) String() string { return verdictWords[v] }

// versus compares two policies by a metric: by their ratio, or where one of them had none of it, by their difference.
func versus(o *simulate.Outcome, a, b, metric string) (verdict, error) {
	x, err := values(o, a+"."+metric)
	if err != nil {
		return ties, err
	}
	y, err := values(o, b+"."+metric)
	if err != nil {
		return ties, err
	}
	return judge(x, y, better(metric)), nil
}

func judge(x, y []float64, sign float64) verdict {
	if len(x) < 2 || slices.Equal(x, y) {
		return ties
	}
	middle := 1.0
	_, low, high := measure.Paired(x, y)
	if math.IsNaN(low) {
		middle, low, high = 0, 0, 0
		if d, half := measure.Mean(minus(x, y)); !math.IsNaN(d) {
			low, high = d-half, d+half
		}
	}
	switch {
	case low > middle:
		return side(sign < 0)
	case high < middle:
		return side(sign > 0)
	}
	return ties
}

func side(won bool) verdict {
	if won {
		return wins
	}
	return loses
}

func minus(x, y []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		if out[i] = x[i] - y[i]; math.IsInf(x[i], 1) && math.IsInf(y[i], 1) {
			out[i] = 0
		}
	}
	return out
}

// held tells whether a bound holds of an estimate, and whether it does of its whole interval.
func held(e measure.Estimate, op string, bound float64) (holds, surely bool) {
	is := func(v float64) bool {
		switch op {
		case "<":
			return v < bound
		case "<=":
			return v <= bound
		case ">":
			return v > bound
		case ">=":
			return v >= bound
		}
		return v == bound
	}
	low, high := e.Low, e.High
	if math.IsNaN(low) || math.IsNaN(high) {
		low, high = e.Value, e.Value
	}
	return is(e.Value), is(low) == is(e.Value) && is(high) == is(e.Value)
}
