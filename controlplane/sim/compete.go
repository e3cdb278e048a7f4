package sim

import "github.com/pointsman/pointsman/clientlib/route"

// compete has a rival choose in place of the strategies, if the policy has one.
func (w *world) compete(p Policy) {
	if p.Rival == nil {
		return
	}
	chance := stream(w.seed, forRivals, 0)
	v := &View{
		Seed: chance.next(), Clients: len(w.clients), Names: w.names, Servers: w.servers,
		Overlay: func(client int32) *route.Fleet { return w.clients[client].fleet },
	}
	for _, e := range w.specs {
		share := float64(e.Weight)
		if e.Weight == route.Absent {
			share = 100
		}
		v.Shares = append(v.Shares, share)
	}
	w.rival = p.Rival(v)
	for i := range w.clients {
		c := &w.clients[i]
		q := &Query{Client: c.number}
		c.router.ChooseBy(func(now int64, seed uint32, eligible []int32) int {
			q.Seed, q.Arrival, q.Eligible = seed, &c.asking.arrival, eligible
			return w.rival.Choose(now, q)
		})
	}
}
