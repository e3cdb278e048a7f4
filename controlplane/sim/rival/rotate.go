package rival

import (
	"cmp"
	"slices"

	"github.com/pointsman/pointsman/controlplane/sim"
)

// rotation is round robin: each client asks one after the other and begins anywhere, as gRPC's
// round_robin does (grpc-go balancer/roundrobin). It knows nothing.
type rotation struct {
	silent
	turn lanes[int32] // the place asked last
}

func startRotation(v *sim.View, _ map[string]float64) sim.Rival {
	return &rotation{turn: newLanes(v.Clients, func(lane int) *int32 {
		d := drawsOf(uint32(v.Seed) + uint32(lane))
		at := int32(d.index(max(1, len(v.Names))))
		return &at
	})}
}

// Choose takes the first eligible place behind the last one.
func (r *rotation) Choose(_ int64, q *sim.Query) int {
	last := r.turn.of(q.Client, q.Arrival)
	i, _ := slices.BinarySearch(q.Eligible, *last+1)
	if i == len(q.Eligible) {
		i = 0
	}
	*last = q.Eligible[i]
	return i
}

// stride is weighted round robin by earliest deadline, which spreads each endpoint's turns
// evenly, as Envoy's EDF scheduler and gRPC's static stride scheduler (A58) do. Phases are drawn
// per client, so that clients do not march in step. It knows the weights it is given: the true
// speeds, at once and exactly, which nobody has; it does not hear of what slows down later.
type stride struct {
	silent
	step []float64 // 1 ÷ weight, by place
	lane lanes[deadlines]
}

// deadlines are one client's: the next turn of each place, in units of a share of 1.
type deadlines struct {
	next []float64
	now  float64
}

func startTrue(v *sim.View, _ map[string]float64) sim.Rival { return newStride(v, speeds(v)) }

// startWrong gives the weights to the wrong ones.
func startWrong(v *sim.View, _ map[string]float64) sim.Rival {
	return newStride(v, reversed(speeds(v)))
}

// reversed turns weights round: ordered by size, and by place where that is equal, the first
// gets that of the last, the second that of the last but one, and so on. Where all are equal
// nothing changes.
func reversed(weights []float64) []float64 {
	order, out := make([]int, len(weights)), make([]float64, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[a], weights[b]) })
	for i, place := range order {
		out[place] = weights[order[len(order)-1-i]]
	}
	return out
}

func newStride(v *sim.View, weights []float64) *stride {
	r := &stride{step: make([]float64, len(weights))}
	for i, w := range weights {
		r.step[i] = 1 / max(w, lightest)
	}
	r.lane = newLanes(v.Clients, func(lane int) *deadlines {
		d := drawsOf(uint32(v.Seed) + uint32(lane))
		at := &deadlines{next: make([]float64, len(r.step))}
		for i, s := range r.step {
			at.next[i] = s * d.unit()
		}
		return at
	})
	return r
}

// Choose takes the earliest deadline. Who could not be asked for a while does not catch up.
func (r *stride) Choose(_ int64, q *sim.Query) int {
	l, best := r.lane.of(q.Client, q.Arrival), 0
	for i, place := range q.Eligible {
		if l.next[place] < l.next[q.Eligible[best]] {
			best = i
		}
	}
	place := q.Eligible[best]
	l.now = max(l.now, l.next[place])
	l.next[place] = l.now + r.step[place]
	return best
}
