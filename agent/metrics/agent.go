package metrics

import (
	"slices"

	"github.com/pointsman/pointsman/agent/hub"
)

// Agent are the families of an agent.
func Agent() []Family[Figures] {
	return slices.Concat(
		[]Family[Figures]{
			Gauge("parent_connected", "1 while there is a stream to a parent.", func(f Figures, say Say) { say(Truth(f.Connected)) }),
			Gauge("leaves", "Running libraries that are known.", func(f Figures, say Say) { say(float64(f.Leaves)) }),
			Gauge("journal_bytes", "What is kept of records.", func(f Figures, say Say) { say(float64(f.Journal)) }),
		},
		Of(func(f Figures) []HeadAge { return f.Heads }, Heads()),
		Of(func(f Figures) hub.Figures { return f.Hub }, Hubs()),
		Of(func(f Figures) Node { return f.Node }, nodes()),
	)
}

// Heads are the families of how old the news is that is passed on.
func Heads() []Family[[]HeadAge] {
	return []Family[[]HeadAge]{
		Gauge("head_age_seconds", "How long ago the origin of a track was last heard, over all relays.", func(all []HeadAge, say Say) {
			for _, h := range all {
				say(h.Age.Seconds(), h.Track)
			}
		}, "track"),
		Gauge("head_generation", "Generation of the catalog's head, as it was last heard.", func(all []HeadAge, say Say) {
			for _, h := range all {
				if h.Generation > 0 {
					say(float64(h.Generation))
				}
			}
		}),
	}
}

func nodes() []Family[Node] {
	return []Family[Node]{
		Gauge("node_engines", "Model servers by whether their load could be read a moment ago.", func(n Node, say Say) {
			say(float64(n.Read), "yes")
			say(float64(n.Engines-n.Read), "no")
		}, "read"),
		Gauge("node_endpoints", "Endpoints by whether their address took a connection last time.", func(n Node, say Say) {
			say(float64(n.Reached), "yes")
			say(float64(n.Unreached), "no")
		}, "reached"),
		Gauge("node_drains", "Endpoints that are drained on this node alone.", func(n Node, say Say) { say(float64(n.Drains)) }),
	}
}
