package controlplane

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/access"
	"github.com/pointsman/pointsman/controlplane/rpc"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// origin has what this replica serves, and has it cut to the views that the hub asks for.
// One goroutine cuts and publishes: no view hears of a state after a newer one.
type origin struct {
	wake  chan struct{}
	heard func() (age int64, ever bool) // the fleet's origin: the leader, wherever it is
	may   func(tenants []*pb.Tenant, identity string) (names []string, everything bool)

	mu      sync.Mutex
	live    rpc.Live
	changed chan struct{} // closed at the next change
	views   map[string]*cut
	urgent  bool         // the fleet's state must not wait
	rights  uint64       // how often they changed
	entitle []*pb.Tenant // of the catalog that is served
	alarms  map[string]string
}

func newOrigin() *origin {
	return &origin{
		wake: make(chan struct{}, 1), changed: make(chan struct{}), views: map[string]*cut{}, alarms: map[string]string{},
		heard: func() (int64, bool) { return 0, true }, may: access.Workloads,
	}
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

// HeadAges says how long ago the origins of the tracks were heard: etcd, and who leads.
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
	if age, ever := o.heard(); ever {
		ages = append(ages, &pb.HeadAge{Track: pb.Track_TRACK_FLEET, AgeUs: age})
	}
	return ages
}

// state is what is served and known now. Who else leads is not known while etcd is away.
func (o *origin) state() rpc.Live {
	o.mu.Lock()
	defer o.mu.Unlock()
	live := o.live
	if live.Away != nil && !live.Leads {
		live.Leader = nil
	}
	return live
}

// ready says whether a head was read: before that nothing here is known to be true.
func (o *origin) ready() bool { return o.state().Head != nil }

// next is closed at the next change.
func (o *origin) next() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

// change changes what is served, and has it published.
func (o *origin) change(f func()) {
	o.note(f)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// note changes what is known, of which children hear nothing.
func (o *origin) note(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
	close(o.changed)
	o.changed = make(chan struct{})
}

// alarm raises an alarm by its name, or, without a text, ends it; true: it came or went.
func (o *origin) alarm(name, text string) (turned bool) {
	o.note(func() {
		was := o.alarms[name]
		if was == text {
			return
		}
		turned = (was == "") != (text == "")
		o.alarms[name] = text
		o.live.Alarms = slices.DeleteFunc(slices.Sorted(maps.Values(o.alarms)), func(text string) bool { return text == "" })
	})
	return turned
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

// say serves what this replica's own judge says.
func (o *origin) say(s *wire.State, known rpc.Judged, urgent bool) {
	o.change(func() {
		o.live.Fleet, o.live.Judged = s, known
		o.urgent = o.urgent || urgent
	})
}

// learn takes what this replica's own judge knows beside the state that is served.
func (o *origin) learn(known rpc.Judged) { o.note(func() { o.live.Judged = known }) }

// pass serves what another replica's judge said, as it said it, if it is newer than what is
// served. It does not wait: the leader waited for more already.
func (o *origin) pass(s *wire.State) {
	o.change(func() {
		if o.live.Leads || wire.Compare(s.Track(), s.Version(), o.live.Fleet.Version()) < 0 {
			return
		}
		o.live.Fleet, o.live.Judged = s, rpc.Judged{Term: s.Version().GetTerm()}
		o.urgent = true
	})
}

// overlay says what is held of the fleet.
func (o *origin) overlay() string {
	live := o.state()
	if live.Fleet == nil {
		return "no overlay is held"
	}
	return fmt.Sprintf("goes on from %d rows of term %d", live.Fleet.Len(), live.Fleet.Version().GetTerm())
}

// serve serves a head with its overrides, and its catalog, if it has one.
func (o *origin) serve(s *store.State, catalog *wire.State) {
	tenants := wire.Tenants(catalog)
	o.change(func() {
		o.live.Head, o.live.Overrides, o.live.Catalog, o.entitle = s.Head, s.Overrides, catalog, tenants
		if o.live.Confirmed.Before(s.Confirmed) {
			o.live.Confirmed = s.Confirmed
		}
	})
}

// tenants are those of the catalog that is served. Nobody changes them.
func (o *origin) tenants() []*pb.Tenant {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.entitle
}

// recut cuts all views anew: who may see what has changed.
func (o *origin) recut() { o.change(func() { o.rights++ }) }

// run publishes until ctx ends.
func (o *origin) run(ctx context.Context, h *hub.Hub) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		served, cuts := o.take()
		for _, c := range cuts {
			c.publish(h, served)
		}
	}
}

// served is what views are cut from.
type served struct {
	rpc.Live
	urgent bool
	rights uint64

	tenants []*pb.Tenant
	may     entitlement
}

func (o *origin) take() (served, []*cut) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tenants, may := o.entitle, o.may
	s := served{o.live, o.urgent, o.rights, tenants, func(identity string) ([]string, bool) { return may(tenants, identity) }}
	o.urgent = false
	return s, slices.Collect(maps.Values(o.views))
}
