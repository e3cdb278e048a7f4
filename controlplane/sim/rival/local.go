package rival

import (
	"github.com/pointsman/pointsman/controlplane/sim"
)

// leastLoaded is weighted least connections over all (IPVS wlc; Envoy least_request with
// FULL_SCAN, whose reservoir breaks ties): own requests in flight per weight, and of equal ones,
// which are many where one client asks little, one drawn by weight; the first of the fastest
// would be asked by every client. It knows what its own client has in flight, and weights:
// configured shares, or true speeds if `speeds` is 1.
type leastLoaded struct {
	own
	weight []float64
}

func startLeast(v *sim.View, is map[string]float64) sim.Rival {
	return &leastLoaded{newOwn(v), weights(v, is)}
}

// Choose scans all.
func (r *leastLoaded) Choose(_ int64, q *sim.Query) int {
	flight, d := r.of(q.Client), drawsOf(q.Seed)
	best, equal, at := 0.0, 0.0, 0
	for i, place := range q.Eligible {
		weight := max(r.weight[place], lightest)
		load := float64(flight[place]) / weight
		switch {
		case equal == 0 || load < best:
			best, equal, at = load, weight, i
		case load == best:
			if equal += weight; d.unit()*equal < weight {
				at = i
			}
		}
	}
	return at
}

// two is the better of two different draws by what is in flight, with this one, per weight (Mitzenmacher's power of two
// choices; Envoy least_request with N_CHOICES). It knows what leastLoaded knows.
type two struct{ leastLoaded }

func startTwo(v *sim.View, is map[string]float64) sim.Rival {
	return &two{leastLoaded{newOwn(v), weights(v, is)}}
}

// Choose compares two.
func (r *two) Choose(_ int64, q *sim.Query) int {
	flight, d := r.of(q.Client), drawsOf(q.Seed)
	a, b := d.pair(len(q.Eligible))
	if load := func(i int) float64 { return perWeight(flight[q.Eligible[i]], r.weight[q.Eligible[i]]) }; load(b) < load(a) {
		return b
	}
	return a
}

// perWeight is the load with one more request.
func perWeight(flight int32, weight float64) float64 {
	return float64(flight+1) / max(weight, lightest)
}

// lightest is what a weight of 0 counts as.
const lightest = 1e-6
