package rival

import (
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// clairvoyant dispatches at once with perfect state: each server's queue, active answers, their
// true lengths, caches, present speed and faults, and how long this request's answer will be. It
// is selfish and greedy, and therefore no bound: what is best for each request need not be best
// for all.
type clairvoyant struct {
	silent
	servers []*server.Server
	job     server.Job
	equal   []int // scratch
}

// firstToken wants the first token soonest, and of equal ones the soonest end.
type firstToken struct{ clairvoyant }

// wholeAnswer wants the end soonest, and of equal ones the soonest first token.
type wholeAnswer struct{ clairvoyant }

func startFirst(v *sim.View, _ map[string]float64) sim.Rival {
	return &firstToken{clairvoyant{servers: v.Servers}}
}

func startTotal(v *sim.View, _ map[string]float64) sim.Rival {
	return &wholeAnswer{clairvoyant{servers: v.Servers}}
}

// Choose asks every server what it would do.
func (r *firstToken) Choose(now int64, q *sim.Query) int {
	r.job = jobOf(q.Arrival)
	best := int64(server.Never)
	r.equal = r.equal[:0]
	for i, place := range q.Eligible {
		first := r.servers[place].PredictFirst(now, &r.job)
		if first < best {
			best, r.equal = first, r.equal[:0]
		}
		if first == best {
			r.equal = append(r.equal, i)
		}
	}
	return r.soonest(now, q.Seed, q.Eligible, func(first, total int64) int64 { return total })
}

// Choose asks every server what it would do.
func (r *wholeAnswer) Choose(now int64, q *sim.Query) int {
	r.job = jobOf(q.Arrival)
	r.equal = r.equal[:0]
	for i := range q.Eligible {
		r.equal = append(r.equal, i)
	}
	r.equal = r.keep(now, q.Eligible, func(first, total int64) int64 { return total })
	return r.soonest(now, q.Seed, q.Eligible, func(first, total int64) int64 { return first })
}

// keep leaves of the equal ones those with the least of a figure.
func (r *clairvoyant) keep(now int64, eligible []int32, figure func(first, total int64) int64) []int {
	best, kept := int64(server.Never), r.equal[:0]
	for _, i := range r.equal {
		f := figure(r.servers[eligible[i]].Predict(now, &r.job))
		if f < best {
			best, kept = f, kept[:0]
		}
		if f == best {
			kept = append(kept, i)
		}
	}
	return kept
}

// soonest is one of those left, drawn if there are several with the least of a figure.
func (r *clairvoyant) soonest(now int64, seed uint32, eligible []int32, figure func(first, total int64) int64) int {
	if len(r.equal) > 1 {
		r.equal = r.keep(now, eligible, figure)
	}
	d := drawsOf(seed)
	return r.equal[d.index(len(r.equal))]
}

func jobOf(a *traffic.Arrival) server.Job {
	return server.Job{Input: a.Input, Output: a.Output, Stream: a.Stream, Blocks: a.Blocks, Chance: a.Chance}
}

// startDelay is JSED: the shortest expected delay, requests in flight with this one per true
// speed, over all servers, seen without delay. It knows counts and speeds, not lengths.
func startDelay(v *sim.View, _ map[string]float64) sim.Rival {
	return startFresh(v, map[string]float64{"speeds": 1, "draws": float64(max(2, len(v.Servers)))})
}
