package controlplane

import (
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	nodeFor  = int64(120e6) // µs that a node's last word is kept
	maxNodes = 10_000
)

// nodes are the newest of what agents said that they saw: for people, decided on elsewhere.
type nodes struct {
	now func() int64

	mu sync.Mutex
	of map[string]sighting
}

type sighting struct {
	report *pb.NodeReport
	at     int64
}

// see takes what was seen, ages as of at.
func (n *nodes) see(at int64, reports []*pb.NodeReport) {
	if len(reports) == 0 {
		return
	}
	now := n.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range reports {
		old, known := n.of[r.GetNode()]
		if known && older(r, old.report) {
			continue
		}
		if !known && len(n.of) >= maxNodes {
			maps.DeleteFunc(n.of, func(_ string, s sighting) bool { return now-s.at >= nodeFor })
		}
		if known || len(n.of) < maxNodes {
			n.of[r.GetNode()] = sighting{r, at - wire.Age(r.GetAgeUs())}
		}
	}
}

// older tells whether a report of a node is not after another.
func older(r, than *pb.NodeReport) bool {
	return r.GetIncarnation() < than.GetIncarnation() ||
		r.GetIncarnation() == than.GetIncarnation() && r.GetSequence() <= than.GetSequence()
}

// all are those of the last two minutes, by node, their ages as of now.
func (n *nodes) all() (out []*pb.NodeReport) {
	now := n.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(n.of)) {
		s := n.of[name]
		if now-s.at >= nodeFor {
			continue
		}
		r := proto.CloneOf(s.report)
		r.AgeUs = now - s.at
		out = append(out, r)
	}
	return out
}
