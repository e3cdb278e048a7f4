package controlplane

import (
	"maps"

	"github.com/pointsman/pointsman/clientlib/route"
)

const witnessFor = int64(30e6) // µs that a node counts after its last report: fleet rows live as long

// witnesses is when each endpoint was last used by each node.
type witnesses map[string]map[string]int64

func (w witnesses) saw(r *route.Report) {
	for i := range r.Rows {
		nodes := w[r.Rows[i].Endpoint]
		if nodes == nil {
			nodes = map[string]int64{}
			w[r.Rows[i].Endpoint] = nodes
		}
		nodes[r.Node] = max(nodes[r.Node], r.At)
	}
}

// count forgets nodes that are silent, and counts the others by endpoint.
func (w witnesses) count(now int64) map[string]uint64 {
	out := make(map[string]uint64, len(w))
	for endpoint, nodes := range w {
		maps.DeleteFunc(nodes, func(_ string, at int64) bool { return now-at > witnessFor })
		if len(nodes) == 0 {
			delete(w, endpoint)
			continue
		}
		out[endpoint] = uint64(len(nodes))
	}
	return out
}
