package rival

import (
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/server"
)

// fresh joins the shortest of d queues, or of all, seen without delay or error (JSQ(d): Mitzenmacher;
// Vvedenskaya, Dobrushin and Karpelevich). It knows every server's requests in flight, of all
// clients, at this very instant, which no deployment of many clients can: JSQ(2) is what other
// balancers approach from below. With `speeds` it divides by true speeds.
type fresh struct {
	silent
	servers []*server.Server
	weight  []float64
	draws   int
	scratch []int32
}

func startFresh(v *sim.View, is map[string]float64) sim.Rival {
	r := &fresh{servers: v.Servers, draws: int(is["draws"]), scratch: make([]int32, len(v.Servers))}
	r.weight = make([]float64, len(v.Servers))
	for i := range r.weight {
		r.weight[i] = 1
	}
	if is["speeds"] != 0 {
		r.weight = speeds(v)
	}
	return r
}

// Choose compares what it draws.
func (r *fresh) Choose(_ int64, q *sim.Query) int {
	d := drawsOf(q.Seed)
	load := func(p int32) float64 {
		return perWeight(int32(r.servers[p].InFlight()), r.weight[p])
	}
	if len(q.Eligible) <= r.draws {
		return least(q.Eligible, &d, load)
	}
	picks := r.scratch[:len(q.Eligible)]
	for i := range picks {
		picks[i] = int32(i)
	}
	picks = d.sample(picks, r.draws)
	return int(picks[least(picks, &d, func(i int32) float64 { return load(q.Eligible[i]) })])
}
