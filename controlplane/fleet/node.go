package fleet

import (
	"cmp"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
)

const (
	reachKept = 5 * minute
	mostSeen  = 1 << 16 // agents, and of each what it reaches
)

// agent is what reports of one node's agent say: nothing of it opens a breaker.
type agent struct {
	name    string
	once    route.Once // its reports
	news    int64
	reaches map[string]Reached // by endpoint
}

// ObserveNode takes what an agent saw itself, at most once: the load of model servers, which
// adjusts speeds, and which addresses it reaches, which is for people alone (requirements.md, D5).
func (f *Fleet) ObserveNode(now int64, r route.NodeReport) {
	a := f.agents[r.Node]
	if a == nil {
		if len(f.agents) >= mostSeen || r.Node == "" {
			return
		}
		a = &agent{name: r.Node, reaches: map[string]Reached{}}
		f.agents[r.Node] = a
	}
	if _, latest := a.once.Take(r.Incarnation, r.Sequence); !latest {
		return
	}
	r.At = min(r.At, now)
	a.news = now
	for i := range r.Engines {
		if e := f.known(r.Engines[i].Endpoint, r.Engines[i].Identity); e != nil {
			e.speed.hear(r.At, &r.Engines[i])
		}
	}
	for _, s := range r.Reaches {
		if f.known(s.Endpoint, s.Identity) != nil {
			a.reaches[s.Endpoint] = Reached{Endpoint: s.Endpoint, Node: a.name, At: r.At, Reached: s.Reached, Reason: s.Reason, Connect: s.Connect}
		}
	}
}

// reached is what agents reach, as far as that is news and in the catalog.
func (f *Fleet) reached(now int64) (out []Reached) {
	for _, a := range f.agents {
		for _, s := range a.reaches {
			if now-s.At < reachKept {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b Reached) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Node, b.Node))
	})
	return out
}

// sweepAgents forgets what is old, and agents that are silent.
func (f *Fleet) sweepAgents(now int64) {
	for name, a := range f.agents {
		for endpoint, s := range a.reaches {
			if now-s.At >= reachKept || f.endpoints[endpoint] == nil {
				delete(a.reaches, endpoint)
			}
		}
		if now-a.news >= forgotten {
			delete(f.agents, name)
		}
	}
}
