package controlplane

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/rpc"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// origin has what this replica serves, and cuts it to the views that the hub asks for.
// One goroutine cuts and publishes: no view hears of a state after a newer one.
type origin struct {
	wake chan struct{}

	mu     sync.Mutex
	live   rpc.Live
	views  map[string]*cut
	urgent bool // the fleet's state must not wait
}

func newOrigin() *origin {
	return &origin{wake: make(chan struct{}, 1), views: map[string]*cut{}}
}

// Subscribe makes a view's states be published, now and when they change. One that comes
// back was sent nothing yet.
func (o *origin) Subscribe(v hub.View) {
	o.change(func() { o.views[v.Key()] = &cut{of: v} })
}

// Unsubscribe ends that.
func (o *origin) Unsubscribe(v hub.View) {
	o.change(func() { delete(o.views, v.Key()) })
}

// HeadAges says how long ago the origins of the tracks were heard: etcd, and this process.
func (o *origin) HeadAges() []*pb.HeadAge {
	live := o.state()
	if live.Head == nil {
		return nil
	}
	ages := []*pb.HeadAge{{
		Track:      pb.Track_TRACK_CATALOG,
		AgeUs:      time.Since(live.Confirmed).Microseconds(),
		Generation: live.Head.GetGeneration(),
	}}
	if live.Fleet != nil {
		ages = append(ages, &pb.HeadAge{Track: pb.Track_TRACK_FLEET})
	}
	return ages
}

// state is what is served and known now.
func (o *origin) state() rpc.Live {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.live
}

// ready says whether a head was read: before that nothing here is known to be true.
func (o *origin) ready() bool { return o.state().Head != nil }

// change changes what is served, and has it published.
func (o *origin) change(f func()) {
	o.mu.Lock()
	f()
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// confirm takes the news of one look at etcd. It reports whether etcd came or went.
func (o *origin) confirm(at time.Time, err error) (turned bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	turned = (err == nil) != (o.live.Away == nil)
	if o.live.Away = err; err == nil {
		o.live.Confirmed = at
	}
	return turned
}

// cut is what one view was last sent, and what it was cut from. All but of belongs to run.
type cut struct {
	of             hub.View
	catalog, fleet *wire.State
	view           *wire.State // of the catalog
}

// run publishes until ctx ends.
func (o *origin) run(ctx context.Context, h *hub.Hub) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		live, cuts, urgent := o.take()
		for _, c := range cuts {
			c.publish(h, live, urgent)
		}
	}
}

func (o *origin) take() (live rpc.Live, cuts []*cut, urgent bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	urgent, o.urgent = o.urgent, false
	return o.live, slices.Collect(maps.Values(o.views)), urgent
}

// publish sends what differs from the last time.
func (c *cut) publish(h *hub.Hub, live rpc.Live, urgent bool) {
	if live.Catalog == nil {
		return
	}
	recut := c.catalog != live.Catalog
	if recut {
		c.catalog, c.view = live.Catalog, catalogView(live.Catalog, c.of.Selector)
		h.Publish(c.of, c.view)
	}
	if live.Fleet == nil || c.fleet == live.Fleet && !recut {
		return
	}
	c.fleet = live.Fleet
	send := h.Publish
	if urgent {
		send = h.PublishUrgent
	}
	send(c.of, fleetView(live.Fleet, c.view, c.of.Selector))
}

// catalogView cuts a catalog to a selector. That nothing is left is what was published.
func catalogView(s *wire.State, sel wire.Selector) *wire.State {
	if !sel.All {
		s = wire.NewState(s.Track(), s.Version(), wire.Closure(s, sel))
	}
	if s.Len() == 0 && (sel.All || len(sel.Workloads) > 0) {
		return s.Because(pb.EmptyReason_EMPTY_REASON_PUBLISHED_EMPTY)
	}
	return s
}

func fleetView(s, view *wire.State, sel wire.Selector) *wire.State {
	if sel.All {
		return s
	}
	return wire.NewState(s.Track(), s.Version(), wire.FleetClosure(s, view))
}
