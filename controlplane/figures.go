package controlplane

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	relayed "github.com/pointsman/pointsman/agent/metrics"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/metrics"
	"github.com/pointsman/pointsman/controlplane/rpc"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Figures are how the replica does now, for metrics.
func (s *Server) Figures() metrics.Figures {
	live := s.origin.state()
	return metrics.Figures{
		Leader: metrics.Leader{Known: live.Leader != nil, Leads: live.Leads, Term: max(live.Term, live.Leader.GetTerm())},
		Heads:  relayed.HeadAges(s.origin.HeadAges()),
		Store:  storeFigures(live, s.store.Figures()),
		Fleet:  fleetFigures(live, s.hub.Leaves()),
		Judged: s.judge.events.told.figures(),
		Hub:    s.hub.Figures(),
	}
}

// told counts what this replica did as leader.
type told struct {
	grants, lost atomic.Uint64

	mu     sync.Mutex
	events map[string]uint64 // by kind, of which there are few
}

func (t *told) event(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.events == nil {
		t.events = map[string]uint64{}
	}
	t.events[kind]++
}

// counting counts the grants that found a way.
func (t *told) counting(grant func(int64, *pb.Grant) bool) func(int64, *pb.Grant) bool {
	return func(at int64, g *pb.Grant) bool {
		went := grant(at, g)
		if went {
			t.grants.Add(1)
		}
		return went
	}
}

func (t *told) figures() metrics.Judged {
	t.mu.Lock()
	defer t.mu.Unlock()
	return metrics.Judged{Events: maps.Clone(t.events), Grants: t.grants.Load(), Lost: t.lost.Load()}
}

func storeFigures(live rpc.Live, f store.Figures) metrics.Store {
	return metrics.Store{Reachable: live.Head != nil && live.Away == nil, Writes: f.Writes, Failed: f.Failed, Took: f.Took}
}

// Ready says why this replica is not: no head was read. One that was ready serves on without etcd.
func (s *Server) Ready() error {
	if !s.origin.ready() {
		return errors.New("etcd was not reached yet: no head was read")
	}
	return nil
}

// fleetFigures counts what is served, and who runs it.
func fleetFigures(live rpc.Live, leaves []*pb.LeafState) metrics.Fleet {
	f := metrics.Fleet{
		Overrides: len(live.Overrides), Spent: len(live.Spent), Shedding: len(live.Shedding), Alarms: len(live.Alarms),
		Breakers: map[metrics.Breaker]int{},
	}
	for k := range live.Catalog.All() {
		switch k.Kind {
		case pb.Kind_KIND_ENDPOINT:
			f.Endpoints++
		case pb.Kind_KIND_WORKLOAD:
			f.Workloads++
		}
	}
	for k, entry := range live.Fleet.All() {
		switch k.Kind {
		case pb.Kind_KIND_FLEET_ENDPOINT:
			countBreakers(f.Breakers, entry)
		case pb.Kind_KIND_FLEET_INSTANCES:
			f.Instances += instances(entry)
		}
	}
	countLeaves(&f, live.Head, leaves)
	return f
}

func countLeaves(f *metrics.Fleet, head *pb.Head, leaves []*pb.LeafState) {
	nodes := map[string]bool{}
	for _, l := range leaves {
		if l.GetGone() {
			continue
		}
		f.Leaves++
		nodes[l.GetNode()] = true
		if rpc.Behind(l.GetVersion(), head) {
			f.Behind++
		}
		if l.GetNack() != "" {
			f.Nacked++
		}
	}
	f.Nodes = len(nodes)
}

var breakerStates = map[pb.BreakerState]string{
	pb.BreakerState_BREAKER_STATE_OPEN: "open", pb.BreakerState_BREAKER_STATE_HALF_OPEN: "half_open", pb.BreakerState_BREAKER_STATE_RAMP: "ramp",
}

// countBreakers counts those of one row that are not closed. A row that cannot be read has none.
func countBreakers(counts map[metrics.Breaker]int, row wire.Entry) {
	e := &pb.FleetEndpoint{}
	if proto.Unmarshal(row.Body, e) != nil {
		return
	}
	for _, b := range e.GetBreakers() {
		if state, ok := breakerStates[b.GetState()]; ok {
			counts[metrics.Breaker{Endpoint: e.GetEndpoint(), State: state}]++
		}
	}
}

func instances(row wire.Entry) int {
	i := &pb.FleetInstances{}
	if proto.Unmarshal(row.Body, i) != nil {
		return 0
	}
	return len(i.GetInstances())
}
