package controlplane

import (
	"maps"

	"github.com/pointsman/pointsman/clientlib/route"
)

const witnessFor = int64(30e6) // µs that a node counts after its last report: fleet rows live as long

// witnesses is which nodes use each endpoint of the catalog.
type witnesses map[string]*users

type users struct {
	identity uint64
	nodes    map[string]int64 // when each last did
}

// only keeps what is known of these endpoints, and takes in no others: what leaves report
// of is anything.
func (w witnesses) only(endpoints []route.Endpoint) {
	before := maps.Clone(w)
	clear(w)
	for i := range endpoints {
		e := &endpoints[i]
		u := before[e.Name]
		if u == nil || u.identity != e.Identity {
			u = &users{e.Identity, map[string]int64{}}
		}
		w[e.Name] = u
	}
}

func (w witnesses) saw(r *route.Report) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if u := w[row.Endpoint]; u != nil && u.identity == row.Identity {
			u.nodes[r.Node] = max(u.nodes[r.Node], r.At)
		}
	}
}

// forget drops nodes that are silent.
func (w witnesses) forget(now int64) {
	for _, u := range w {
		maps.DeleteFunc(u.nodes, func(_ string, at int64) bool { return now-at > witnessFor })
	}
}

// count counts the nodes by endpoint, those that have any.
func (w witnesses) count() map[string]uint64 {
	out := make(map[string]uint64, len(w))
	for endpoint, u := range w {
		if len(u.nodes) > 0 {
			out[endpoint] = uint64(len(u.nodes))
		}
	}
	return out
}
