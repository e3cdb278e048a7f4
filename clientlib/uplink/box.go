package uplink

import (
	"maps"
	"sync"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// want is what is wanted of a view.
type want struct {
	sel      wire.Selector
	identity string
}

func (w want) equal(o want) bool { return w.identity == o.identity && w.sel.Key() == o.sel.Key() }

func (w want) subscribe(view uint32) *pb.Subscribe {
	return &pb.Subscribe{View: view, All: w.sel.All, Workloads: w.sel.Workloads, Identity: w.identity}
}

// box holds what callers want until the loop looks. It is level-triggered: a view has one
// want, however often it was changed.
type box struct {
	kick chan struct{} // holds one

	mu    sync.Mutex
	wants map[uint32]want
	saved bool // saved states are wanted
}

func newBox(first *pb.Subscribe) *box {
	b := &box{kick: make(chan struct{}, 1), wants: map[uint32]want{}}
	if first != nil {
		b.wants[first.View] = want{wire.Selector{All: first.All, Workloads: first.Workloads}, first.Identity}
	}
	return b
}

func (b *box) want(view uint32, w want) { b.change(func() { b.wants[view] = w }) }
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
func (b *box) open() (wants map[uint32]want, saved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.wants), b.saved
}
