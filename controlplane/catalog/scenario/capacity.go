package scenario

import (
	"math"

	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// scaleOf is how much traffic there is: one of them is given.
type scaleOf struct{ rate, load float64 }

func scaling(b *catalog.Block) (s scaleOf, ok bool) {
	rate := b.Number("rate", 1e-6, maxRate, &s.rate)
	load := b.Number("load", 0.0001, 100, &s.load)
	switch {
	case b.Has("rate") && b.Has("load"):
		b.Fail("take one of them", "both rate and load")
		return s, false
	case !b.Has("rate") && !b.Has("load"):
		b.Fail("add load, as a part of what the servers can do, or rate, in requests a second", "traffic without a rate")
	}
	return s, rate || load
}

// rate is how many requests a second come: given, or by a load. Load 1 is the sum, over the
// endpoints of the workload's first tier, of what each can answer for long of requests of the
// source's mean lengths, were it to remember no prompt, without faults.
func (r *reader) rate(b *catalog.Block, s scaleOf, workload string, stats traffic.Stats) (float64, bool) {
	if s.load == 0 {
		return s.rate, s.rate > 0
	}
	capacity, ok := r.capacity(workload, stats)
	if !ok {
		return 0, false
	}
	rate := s.load * capacity
	if math.IsInf(rate, 0) || math.IsNaN(rate) || rate > maxRate {
		b.Wrong("load", "write rate, in requests a second", "is of servers without a limit")
		return 0, false
	}
	return rate, rate > 0
}

func (r *reader) capacity(workload string, stats traffic.Stats) (sum float64, ok bool) {
	w := r.workload(workload)
	if w == nil || len(w.Tiers) == 0 {
		return 0, false
	}
	for _, name := range w.Tiers[0].Endpoints {
		m, modelled := r.models[name]
		if !modelled {
			return 0, false
		}
		sum += m.Capacity(stats.Input, stats.Output)
	}
	return sum, true
}
