package fleet

import (
	"maps"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
)

// legacy is how many nodes used an endpoint when another judged it, by locality. While a new
// judge learns who uses what, it takes its quorums of them: what is voted for by so many, or
// fails all of a sudden, opens at once.
type legacy struct {
	until int64
	nodes map[string]int
}

// take takes what another judge said. A node that was alone has nobody to outvote it if it is
// sick itself: that is learned as ever.
func (l *legacy) take(until int64, loads []route.FleetLoad) {
	l.until, l.nodes = until, map[string]int{}
	for _, load := range loads {
		if load.Witnesses > 1 && len(l.nodes) < mostSites {
			l.nodes[load.Locality] = int(min(load.Witnesses, maxLeaves))
		}
	}
}

// of is how many used it in a locality; 0: not known, or no matter any more.
func (l *legacy) of(now int64, locality string) int {
	if now >= l.until {
		return 0
	}
	return l.nodes[locality]
}

func (l *legacy) localities(now int64) []string {
	if now >= l.until {
		return nil
	}
	return slices.Collect(maps.Keys(l.nodes))
}

// learns tells whether it is too early to judge a site: who uses it is not known yet.
func (f *Fleet) learns(now int64, s *site) bool {
	return now < f.judges && s.endpoint.legacy.of(now, s.locality) == 0
}

// users is how many nodes use a site, of whom voters are heard, and how many it takes.
func (s *site) users(now int64, voters []*witness) (all, need int) {
	all = max(len(voters), s.endpoint.legacy.of(now, s.locality))
	return all, quorum(all)
}

// spans are those to judge by. At first the longer ones have no more in them than what came
// all of a sudden: failures, which are told at once, and little of what is well.
func (s *site) spans(now int64) span {
	if s.endpoint.legacy.of(now, s.locality) > 0 {
		return sudden + 1
	}
	return spans
}

// witnessed is how many nodes use a site, as rows say it.
func (s *site) witnessed(now int64) uint32 {
	n := 0
	for _, w := range s.witnesses {
		n += bit(w.uses(now) && w.node.leaves > 0)
	}
	return uint32(max(n, s.endpoint.legacy.of(now, s.locality)))
}
