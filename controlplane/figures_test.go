package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/metrics"
	"github.com/pointsman/pointsman/controlplane/rpc"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestFiguresCountWhatIsServedAndWhoRunsIt(t *testing.T) {
	entry := func(m proto.Message) wire.Entry {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return wire.Entry{Body: b, Hash: wire.HashOf(b)}
	}
	head := &pb.Head{StoreId: "s", Epoch: 1, Generation: 7}
	version := func(n uint64) *pb.Version { return &pb.Version{StoreId: "s", Epoch: 1, Generation: n} }
	live := rpc.Live{
		Head: head, Alarms: []string{"one"}, Overrides: []*pb.StoredOverride{{}, {}},
		Catalog: wire.NewState(pb.Track_TRACK_CATALOG, version(7), map[wire.Key]wire.Entry{
			{Kind: pb.Kind_KIND_ENDPOINT, Name: "a"}: {}, {Kind: pb.Kind_KIND_ENDPOINT, Name: "b"}: {}, {Kind: pb.Kind_KIND_WORKLOAD, Name: "chat"}: {},
		}),
		Fleet: wire.NewState(pb.Track_TRACK_FLEET, &pb.Version{Term: 3}, map[wire.Key]wire.Entry{
			{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: "a"}: entry(&pb.FleetEndpoint{Endpoint: "a", Breakers: []*pb.FleetBreaker{
				{State: pb.BreakerState_BREAKER_STATE_OPEN, Locality: "eu"}, {State: pb.BreakerState_BREAKER_STATE_OPEN, Locality: "us"},
				{State: pb.BreakerState_BREAKER_STATE_CLOSED}, {State: pb.BreakerState_BREAKER_STATE_RAMP},
			}}),
			{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: "b"}:  {Body: []byte("\xff")},
			{Kind: pb.Kind_KIND_FLEET_INSTANCES, Name: "a"}: entry(&pb.FleetInstances{Endpoint: "a", Instances: make([]*pb.FleetInstance, 3)}),
		}),
	}
	leaves := []*pb.LeafState{
		{Leaf: "1", Node: "n1", Version: version(7)}, {Leaf: "2", Node: "n1", Version: version(6)},
		{Leaf: "3", Node: "n2", Version: version(7), Nack: "too new"}, {Leaf: "4", Node: "n3", Gone: true},
	}
	want := metrics.Fleet{
		Endpoints: 2, Workloads: 1, Instances: 3, Overrides: 2, Leaves: 3, Behind: 1, Nacked: 1, Nodes: 2, Alarms: 1,
		Breakers: map[metrics.Breaker]int{{Endpoint: "a", State: "open"}: 2, {Endpoint: "a", State: "ramp"}: 1},
	}
	if diff := cmp.Diff(want, fleetFigures(live, leaves)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(metrics.Fleet{Breakers: map[metrics.Breaker]int{}}, fleetFigures(rpc.Live{}, nil)); diff != "" {
		t.Errorf("of a replica that knows nothing yet: %s", diff)
	}
}

func TestWhatALeaderDidIsCounted(t *testing.T) {
	var c told
	grant := c.counting(func(_ int64, g *pb.Grant) bool { return g.GetNumber() > 1 })
	if grant(1, &pb.Grant{Number: 1}) || !grant(1, &pb.Grant{Number: 2}) {
		t.Error("counting changes what a grant came to")
	}
	c.event("opened")
	c.event("opened")
	c.lost.Add(3)
	if diff := cmp.Diff(metrics.Judged{Events: map[string]uint64{"opened": 2}, Grants: 1, Lost: 3}, c.figures()); diff != "" {
		t.Error(diff)
	}
}
