package metrics

import (
	"time"

	"github.com/pointsman/pointsman/agent/hub"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Figures are how an agent does, at one moment.
type Figures struct {
	Connected bool // there is a stream to a parent
	Heads     []HeadAge
	Leaves    int   // below, those that are gone left out
	Journal   int64 // bytes of records that are kept
	Hub       hub.Figures
	Node      Node
}

// HeadAge is how long ago the origin of a track was last heard, over all relays.
type HeadAge struct {
	Track      string // catalog, fleet
	Age        time.Duration
	Generation uint64 // of the catalog's head
}

// HeadAges are those of the tracks that have a name.
func HeadAges(heads []*pb.HeadAge) []HeadAge {
	var out []HeadAge
	for _, h := range heads {
		age := HeadAge{Age: time.Duration(h.GetAgeUs()) * time.Microsecond}
		switch h.GetTrack() {
		case pb.Track_TRACK_CATALOG:
			age.Track, age.Generation = "catalog", h.GetGeneration()
		case pb.Track_TRACK_FLEET:
			age.Track = "fleet"
		default:
			continue
		}
		out = append(out, age)
	}
	return out
}

// Node is what an agent sees of endpoints by itself.
type Node struct {
	Engines   int // model servers whose load is to be read
	Read      int // of those, the ones that were, a moment ago
	Reached   int // endpoints whose address took a connection last time
	Unreached int // and did not
	Drains    int // of this node alone
}
