package uplink

import (
	"context"
	"errors"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// EventKind is a change of state.
type EventKind uint8

// The events.
const (
	Connected EventKind = iota + 1 // the parent answered
	Lost                           // the stream ended, or none came about: Err says why
	Applied                        // a catalog
	Nacked                         // content was bad: Err says how
	Saved                          // a catalog is on disk
	Unsaved                        // the disk failed; what was applied stays
	Ignored                        // a saved catalog that cannot be used
	Slept                          // the machine was suspended: what was learned has aged
	Loaded                         // what Load found has been offered
)

// String names the kind.
func (k EventKind) String() string {
	names := [...]string{"none", "connected", "lost", "applied", "nacked", "saved", "unsaved", "ignored", "slept", "loaded"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Event is one change of state.
type Event struct {
	Kind    EventKind
	Parent  string
	View    uint32
	Track   pb.Track
	Version *pb.Version
	Err     error
}

// Orderly tells whether a stream ended as it should: this process stops, or its parent asked to go elsewhere.
func (e Event) Orderly() bool { return orderly(e.Err) }

func orderly(err error) bool {
	var bye *goodbye
	return errors.Is(err, context.Canceled) || errors.As(err, &bye)
}
