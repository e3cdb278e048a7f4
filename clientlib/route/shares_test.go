package route_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

// chance is the probability that counts are as far from their shares, or farther, when
// only chance is at work: the χ² test.
func chance(counts []int, shares []float64) float64 {
	n, sum := 0, 0.0
	for i := range counts {
		n += counts[i]
		sum += shares[i]
	}
	x, free := 0.0, -1
	for i := range counts {
		want := float64(n) * shares[i] / sum
		if want == 0 {
			if counts[i] > 0 {
				return 0
			}
			continue
		}
		x += (float64(counts[i]) - want) * (float64(counts[i]) - want) / want
		free++
	}
	return chiSquared(x, free)
}

// chiSquared is the upper tail of the distribution, by its recurrence over two degrees.
func chiSquared(x float64, free int) float64 {
	q, k := math.Erfc(math.Sqrt(x/2)), 1
	if free%2 == 0 {
		q, k = math.Exp(-x/2), 2
	}
	for ; k < free; k += 2 {
		g, _ := math.Lgamma(float64(k)/2 + 1)
		q += math.Exp(float64(k)/2*math.Log(x/2) - x/2 - g)
	}
	return q
}

func TestTheTailOfChiSquared(t *testing.T) {
	for _, c := range []struct {
		x    float64
		free int
		want float64
	}{{3.841, 1, 0.05}, {5.991, 2, 0.05}, {7.815, 3, 0.05}, {18.307, 10, 0.05}, {23.928, 1, 1e-6}, {44.811, 9, 1e-6}} {
		if got := chiSquared(c.x, c.free); math.Abs(got/c.want-1) > 0.01 {
			t.Errorf("%g with %d degrees: %g, want %g", c.x, c.free, got, c.want)
		}
	}
}

// counted is the plainest chance that a caller may have.
func counted() func() uint32 {
	n := uint32(0)
	return func() uint32 { n++; return n }
}

// An idle pool's endpoints differ in nothing but their shares: p2c keeps those too, as equal
// scores are drawn for.
func TestSharesAreKept(t *testing.T) {
	for _, c := range []struct {
		rule   string
		shares []float64 // configured
		ramps  []float64 // factor of each; none: 1
	}{
		{"two alike", []float64{100, 100}, nil},
		{"0.995 to 0.005", []float64{995, 5}, nil},
		{"0.999 to 0.001", []float64{999, 1}, nil},
		{"nothing is drawn at 0", []float64{10, 0, 30, 0, 60}, nil},
		{"many sizes", []float64{1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144}, nil},
		{"a ramp", []float64{100, 100, 100}, []float64{1, 0.325, 1}},
		{"all ramp", []float64{100, 300}, []float64{0.325, 0.325}},
		{"two ramps", []float64{100, 100, 100, 700}, []float64{0.1, 0.55, 1, 1}},
		{"a ramp of nearly all", []float64{995, 5}, []float64{0.1, 1}},
		{"a ramp of little", []float64{995, 5}, []float64{1, 0.1}},
	} {
		for _, v := range []struct {
			strategy route.Strategy
			fresh    func() uint32
		}{{route.Weighted, rand.New(rand.NewPCG(1, 2)).Uint32}, {route.Weighted, counted()}, {route.P2C, counted()}, {route.LatencyWeighted, counted()}} {
			t.Run(fmt.Sprintf("%s/%v", c.rule, v.strategy), func(t *testing.T) {
				r, want := sharing(t, v.strategy, c.shares, c.ramps)
				counts := draw(t, r, len(want), v.fresh)
				if p := chance(counts, want); p < 1e-6 {
					t.Errorf("drawn %v for shares %v: probability %g", counts, want, p)
				}
			})
		}
	}
}

const halfway = 20 * sec

// sharing is a router with a pool of those shares, some of which are ramping for good.
func sharing(t *testing.T, strategy route.Strategy, shares, ramps []float64) (*route.Router, []float64) {
	s, want, names := newStage(), make([]float64, len(shares)), make([]string, len(shares))
	for i, share := range shares {
		names[i], want[i] = fmt.Sprintf("e%02d", i), share
		s.declare(parse(fmt.Sprintf("endpoint %s weight=%g", names[i], share)))
		if ramps == nil || ramps[i] == 1 {
			continue
		}
		want[i] *= ramps[i]
		s.fleet.Endpoints = append(s.fleet.Endpoints, ramping(names[i], ramps[i]))
	}
	w := s.workload(parse("workload w tiers=t:" + strings.Join(names, ",")))
	w.Strategy = strategy
	s.catalog.Workloads = []route.Workload{w}
	r := route.NewRouter()
	r.Apply(halfway, compile(t, nil, &s.catalog, &s.fleet))
	return r, want
}

// ramping is the row of an endpoint whose ramp has come to a factor: 0.1 + 0.9 × age ÷ time.
func ramping(name string, factor float64) route.FleetEndpoint {
	const lasts = 36_000 * sec
	age := int64((factor - 0.1) / 0.9 * lasts)
	return route.FleetEndpoint{Name: name, Identity: 1, At: halfway, Breakers: []route.FleetBreaker{{
		Class: breaker.Any, State: route.FleetRamp, Round: 1, RampFrom: halfway - age, RampFor: lasts, RampSuccesses: 1000,
	}}}
}

func draw(t *testing.T, r *route.Router, n int, fresh func() uint32) []int {
	counts := make([]int, n)
	for range 100_000 {
		call := r.Begin(halfway, "w", route.Request{Input: 100})
		step := r.Next(halfway, fresh(), &call)
		if step.Kind != route.Send {
			t.Fatal(step.Err)
		}
		counts[place(step.Endpoint.Name)]++
		r.Abandon(halfway, step.Attempt)
	}
	return counts
}

// place is the number in a name of two digits.
func place(name string) int { return int(name[1]-'0')*10 + int(name[2]-'0') }
