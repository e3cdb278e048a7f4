package uplink

import (
	"maps"
	"sync"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Want is what is wanted of a view.
type Want struct {
	wire.Selector
	Identity  string // on whose behalf, by a relay
	FleetOnly bool   // a replica's: its catalog comes from the store
}

func (w Want) equal(o Want) bool {
	return w.Identity == o.Identity && w.FleetOnly == o.FleetOnly && w.Key() == o.Key()
}

func (w Want) subscribe(view uint32) *pb.Subscribe {
	return &pb.Subscribe{View: view, All: w.All, Workloads: w.Workloads, Identity: w.Identity, FleetOnly: w.FleetOnly}
}

// box holds what callers want until the loop looks. It is level-triggered: a view has one
// want, however often it was changed.
type box struct {
	kick chan struct{} // holds one

	mu    sync.Mutex
	wants map[uint32]Want
	saved bool // saved states are wanted
}

func newBox(first *pb.Subscribe) *box {
	b := &box{kick: make(chan struct{}, 1), wants: map[uint32]Want{}}
	if first != nil {
		b.wants[first.View] = Want{wire.Selector{All: first.All, Workloads: first.Workloads}, first.Identity, first.FleetOnly}
	}
	return b
}

func (b *box) want(view uint32, w Want) { b.change(func() { b.wants[view] = w }) }
func (b *box) drop(view uint32)         { b.change(func() { delete(b.wants, view) }) }
func (b *box) load()                    { b.change(func() { b.saved = true }) }

func (b *box) change(f func()) {
	b.mu.Lock()
	f()
	b.mu.Unlock()
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

// open gives what is wanted now.
func (b *box) open() (wants map[uint32]Want, saved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.wants), b.saved
}
