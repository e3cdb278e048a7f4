package sim

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/controlplane/sim/server"
)

// alone is how long a call would take to its first token with nobody else there, at the
// fastest endpoint that may serve it: what its time is compared with.
type alone struct {
	twins []*server.Server // of each model one, always idle
	twin  []int32          // by place
	known map[asked][]int32
	last  asked // the last one asked for
	ofIt  []int32
	job   server.Job // scratch
}

// asked is what decides who may serve a call.
type asked struct {
	right
	needs  string
	stream bool
}

func newAlone(w *world) alone {
	a := alone{known: map[asked][]int32{}}
	var models []server.Model
	for _, name := range w.names {
		m := w.Servers[name]
		at := slices.IndexFunc(models, func(o server.Model) bool { return sameTimes(&m, &o) })
		if at < 0 {
			at = len(models)
			models = append(models, m)
			a.twins = append(a.twins, server.New(&m, 0, nil))
		}
		a.twin = append(a.twin, int32(at))
	}
	return a
}

// sameTimes tells whether two models are as fast.
func sameTimes(m, o *server.Model) bool {
	switch {
	case m.Own != nil && o.Own != nil:
		return *m.Own == *o.Own
	case m.Hosted != nil && o.Hosted != nil:
		return m.Hosted.Latency == o.Hosted.Latency && m.Hosted.Scale == o.Hosted.Scale
	}
	return false
}

// time is in µs; 0: nobody may serve it.
func (a *alone) time(c *call) (least int64) {
	job := &a.job
	*job = server.Job{Input: c.arrival.Input, Output: c.arrival.Output, Stream: c.arrival.Stream, Chance: c.arrival.Chance}
	for _, twin := range a.among(c) {
		var us int64
		if c.sees() {
			us = a.twins[twin].PredictFirst(0, job)
		} else {
			_, us = a.twins[twin].Predict(0, job)
		}
		if us < server.Never && (least == 0 || us < least) {
			least = us
		}
	}
	return least
}

// among is the models of those that may serve a call.
func (a *alone) among(c *call) []int32 {
	k := asked{right{c.arrival.Workload, c.arrival.Tenant}, "", c.arrival.Stream}
	if len(c.arrival.Needs) > 0 {
		k.needs = strings.Join(c.arrival.Needs, ",")
	}
	if a.ofIt != nil && k == a.last {
		return a.ofIt
	}
	all, ok := a.known[k]
	if !ok {
		for place, twin := range a.twin {
			if c.world.rights.allow(c, int32(place)) && !slices.Contains(all, twin) {
				all = append(all, twin)
			}
		}
		a.known[k] = all
	}
	a.last, a.ofIt = k, all
	return all
}

// sees tells whether the application sees the answer as it comes.
func (c *call) sees() bool { return c.arrival.Stream && !c.spec.Whole }
