package controlplane

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// roles are the parts of a replica that serve children and know who leads: while it is this
// replica, its judge judges for all; while it is another, its relay passes on what that one says.
type roles struct {
	origin     *origin
	hub        *hub.Hub
	judge      *judge
	leadership *leadership
	relay      *relay
	claims     *claims
	elections  elections
}

// joints are what roles are joined to.
type joints struct {
	self      store.Candidate
	namespace string
	version   string
	elections elections
	ledger    ledger
	now       func() int64
	lookup    lookup
	authorize func(context.Context, *pb.Hello) (hub.Guest, error)
	options   func(address string) ([]grpc.DialOption, error)
	log       hclog.Logger
}

func newRoles(j joints) *roles {
	r := &roles{origin: newOrigin(), elections: j.elections}
	events := newDiary(j.log.Named("events"))
	r.judge = newJudge(j.now, r.origin, events, j.log.Named("fleet"))
	r.leadership = &leadership{
		elections: j.elections, self: j.self, judge: r.judge, origin: r.origin, events: events, runs: r.running,
		log: j.log.Named("leader"),
	}
	leads := r.leadership.leads.Load
	rings := bell{r.origin, events, leads}
	resolve := r.judge.resolver(newResolver(j.lookup, func(text string) { rings.ring(unresolved, text) }, j.log.Named("instances")))
	r.leadership.resolve = func(ctx context.Context) {
		resolve(ctx)
		r.origin.alarm(unresolved, "") // it is the next leader's, and has not gone
	}
	r.relay = &relay{
		self: j.self, now: j.now, origin: r.origin, leads: leads,
		log: j.log.Named("relay"), wake: make(chan struct{}, 1), uplinks: uplinks{hello: hello(j), options: j.options},
	}
	r.claims = &claims{
		ledger: j.ledger, namespace: j.namespace, origin: r.origin, bell: rings,
		log: j.log.Named("catalog"), wake: make(chan struct{}, 1),
	}
	r.leadership.turned, r.origin.heard = r.relay.turned, r.relay.age
	r.hub = hub.New(hub.Config{
		Source: r.origin, Up: r.up, Now: j.now, Authorize: j.authorize,
		Observe: func(e hub.Event) { r.observe(j.log, e) },
	})
	r.judge.grant, r.relay.hub, r.claims.leaves = events.told.counting(r.hub.Grant), r.hub, r.hub.Leaves
	return r
}

// hello is what this replica says to one that leads.
func hello(j joints) *pb.Hello {
	return &pb.Hello{
		Library: "replica", LibraryVersion: j.version, Leaf: j.self.Replica, Relay: true,
		Incarnation: uint64(time.Now().UnixMicro()), Subscribe: &pb.Subscribe{View: 1, All: true, FleetOnly: true},
	}
}

// parts are what runs until the end, beside leading and the hub.
func (r *roles) parts() []func(context.Context) {
	return []func(context.Context){
		r.relay.run, r.claims.run,
		func(ctx context.Context) { r.relay.follow(ctx, r.elections) },
		func(ctx context.Context) { r.origin.run(ctx, r.hub) },
	}
}

// up takes reports from below to who judges them.
func (r *roles) up(at int64, m *pb.Report) {
	if r.leadership.leads.Load() {
		r.judge.report(at, m)
		return
	}
	r.relay.up(at, m)
}

// running are the revisions that leaves run.
func (r *roles) running() []uint64 {
	seen := map[uint64]bool{}
	for _, l := range r.hub.Leaves() {
		seen[l.GetVersion().GetRevision()] = true
	}
	return slices.Collect(maps.Keys(seen))
}

// observe logs what changed below.
func (r *roles) observe(log hclog.Logger, e hub.Event) {
	if e.Kind == hub.Behind {
		r.claims.look()
	}
	level := hclog.Info
	if e.Bad() {
		level = hclog.Warn
	}
	log.Log(level, "child "+e.Kind.String(), "child", e.Child, "kind", e.Sort, "detail", e.Detail)
}

// leadWithin is how long a replica that comes as to a leader waits for this one to know that
// it leads: etcd may have told the other one first.
const leadWithin = 2 * time.Second

// awaitsLeading refuses replicas while this one does not lead: what two that took each other
// for the leader passed on would go round.
func (r *roles) awaitsLeading(ctx context.Context, hello *pb.Hello) error {
	if !hello.GetSubscribe().GetFleetOnly() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leadWithin)
	defer cancel()
	for {
		changed := r.origin.next()
		if r.leadership.leads.Load() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return status.Error(codes.Unavailable, "this replica does not lead")
		}
	}
}
