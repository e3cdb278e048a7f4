package rival

import (
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/server"
)

var syncSettings = []setting{
	{"quantile", 0.7, 0, 1},
	{"probes", 5, 2, 100}, // per query, answered before it is sent
	{"aversion", 3, 0, 10},
}

// probing is Prequal's synchronous mode: each query probes a few servers, and goes to the best of
// them by the same rule. It knows what prequal's probes tell, at this very instant; the round
// trip that a query waits for them is not charged, which flatters it.
type probing struct {
	silent
	quantile float64
	probes   int
	servers  []*server.Server
	recent   lanes[samples]
	health   *health
	scratch  []int32
	ready    []probe
}

func startSync(v *sim.View, is map[string]float64) sim.Rival {
	return &probing{quantile: is["quantile"], probes: int(is["probes"]), servers: v.Servers, health: newHealth(v, is["aversion"]),
		recent: newLanes(v.Clients, func(int) *samples { return new(samples) })}
}

// Choose probes and takes the best.
func (r *probing) Choose(now int64, q *sim.Query) int {
	recent, d := r.recent.of(q.Client, q.Arrival), drawsOf(q.Seed)
	r.scratch, r.ready = append(r.scratch[:0], q.Eligible...), r.ready[:0]
	for _, place := range d.sample(r.scratch, r.probes) {
		flight, latency := r.servers[place].Probe(now)
		recent.add(int32(flight))
		r.ready = append(r.ready, probe{place: place, at: now, flight: int32(flight), latency: latency, health: r.health.of(now, place)})
	}
	return indexOf(q.Eligible, r.ready[choose(r.ready, recent.quantile(r.quantile), &d)].place)
}

// Ended learns whether it was served.
func (r *probing) Ended(now int64, _, place int32, kind route.OutcomeKind) {
	r.health.learn(now, place, kind)
}
