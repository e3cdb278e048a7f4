package intruders

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// identities are the endpoints' own, as anybody may learn who sees them.
func (w *world) identities(t *testing.T) map[string]uint64 {
	t.Helper()
	show, err := pb.NewCatalogServiceClient(w.admin).Show(t.Context(), &pb.ShowRequest{})
	if err != nil {
		t.Fatal(err)
	}
	entries := map[wire.Key]wire.Entry{}
	for _, r := range show.GetResources() {
		entries[wire.Key{Kind: r.GetKind(), Name: r.GetName()}] = wire.Entry{Body: r.GetBody(), Hash: wire.HashOf(r.GetBody())}
	}
	c, _, err := wire.Catalog(wire.NewState(pb.Track_TRACK_CATALOG, &pb.Version{Epoch: 1, Generation: 1}, entries), false)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint64{}
	for _, e := range c.Endpoints {
		out[e.Name] = e.Identity
	}
	return out
}

// failing says that all requests to an endpoint fail.
func failing(who, endpoint, workload string, identity, sequence uint64) *pb.LeafReport {
	return &pb.LeafReport{
		Leaf: who, Node: "node-" + who, Incarnation: 1, Sequence: sequence, IntervalUs: 1e6,
		Rows: []*pb.Row{{Endpoint: endpoint, Identity: identity, Class: pb.Class_CLASS_ANY, Workload: workload, AdmitFailed: 50}},
		Votes: []*pb.Vote{{
			Endpoint: endpoint, Identity: identity, Class: pb.Class_CLASS_ANY, Phase: pb.Phase_PHASE_ADMIT, Reason: "50 of 50 failed",
		}},
	}
}

func (w *world) endpoints(t *testing.T) map[string]*pb.EndpointInfo {
	t.Helper()
	answer, err := pb.NewFleetServiceClient(w.admin).ListEndpoints(t.Context(), &pb.ListEndpointsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*pb.EndpointInfo{}
	for _, e := range answer.GetEndpoints() {
		out[e.GetName()] = e
	}
	return out
}

func open(e *pb.EndpointInfo) bool {
	return slices.ContainsFunc(e.GetFleet().GetBreakers(), func(b *pb.FleetBreaker) bool { return b.GetState() != pb.BreakerState_BREAKER_STATE_CLOSED })
}

func TestAReportOfWhatIsNotInViewMovesNothing(t *testing.T) {
	w := newWorld(t)
	ids := w.identities(t)
	acme := join(t, w.as(t, "acme"), leafHello("acme"))
	acme.view()
	for n := range uint64(5) {
		acme.report(&pb.Report{Leaves: []*pb.LeafReport{failing("acme", "b", "search", ids["b"], n+1)}})
		acme.report(&pb.Report{Nodes: []*pb.NodeReport{{Node: "node-acme", Incarnation: 1, Sequence: n + 1, Reaches: []*pb.Reach{{Endpoint: "b", Identity: ids["b"], Reason: "refused"}}}}})
	}
	acme.report(&pb.Report{Leaves: []*pb.LeafReport{failing("acme", "a", "chat", ids["a"], 6)}})
	eventually(t, "what it says of its own endpoint is heard", func() bool { return open(w.endpoints(t)["a"]) })
	if b := w.endpoints(t)["b"]; open(b) || b.GetWitnesses() != 0 {
		t.Errorf("what it says of another's: %v", b)
	}
}

// A report that somebody copied is another's, and one that comes again was counted.
func TestAReplayedReportCountsOnce(t *testing.T) {
	w := newWorld(t)
	ids := w.identities(t)
	first := join(t, w.as(t, "acme"), leafHello("one"))
	first.view()
	busy := func(in uint64) *pb.LeafReport {
		return &pb.LeafReport{Leaf: "one", Node: "node-one", Incarnation: 1, Sequence: in, IntervalUs: 1e6, Rows: []*pb.Row{{
			Endpoint: "a", Identity: ids["a"], Class: pb.Class_CLASS_ANY, Workload: "chat", Admitted: 1, Finished: 1, InFlight: in,
		}}}
	}
	load := func() (in uint64) {
		for _, l := range w.endpoints(t)["a"].GetFleet().GetLoads() {
			in += l.GetInFlight()
		}
		return in
	}
	first.report(&pb.Report{Leaves: []*pb.LeafReport{busy(7)}})
	eventually(t, "it is heard", func() bool { return load() == 7 })
	// From the leaf's own stream, and, by name, from another identity's that sees the endpoint too.
	other := join(t, w.as(t, "acme-2"), leafHello("two"))
	other.view()
	for range 3 {
		first.report(&pb.Report{Leaves: []*pb.LeafReport{busy(5), busy(7)}})
		other.report(&pb.Report{Leaves: []*pb.LeafReport{busy(9)}})
	}
	mark := failing("two", "a", "chat", ids["a"], 1)
	mark.Votes, mark.Rows[0].AdmitFailed, mark.Rows[0].InFlight = nil, 0, 100
	other.report(&pb.Report{Leaves: []*pb.LeafReport{mark}})
	eventually(t, "all before it was judged", func() bool { return load() >= 100 })
	if got := load(); got != 107 {
		t.Errorf("%d in flight, want 107: 7 of the one, 100 of the other", got)
	}
	first.report(&pb.Report{Leaves: []*pb.LeafReport{busy(8)}})
	eventually(t, "the next one is heard", func() bool { return load() == 108 })
}

func TestALiveStreamEndsWhenItsIdentityIsRevoked(t *testing.T) {
	w := newWorld(t)
	one := join(t, w.as(t, "acme"), leafHello("one"))
	one.view()
	if _, err := w.operate().Revoke(t.Context(), &pb.RevokeRequest{Subject: "cn/acme", Reason: "key was copied"}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	names, why := one.view() // at once it sees nothing any more
	if len(names) > 0 || why != pb.EmptyReason_EMPTY_REASON_PERMISSION {
		t.Errorf("it still sees %q, %v", names, why)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("only after %v", took)
	}
	if err := one.ended(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("it ended by %v", err)
	}
	if took := time.Since(begun); took > 45*time.Second { // 30 s, and what a loaded machine adds
		t.Errorf("only after %v", took)
	}
	sees(t, w.as(t, "acme-2"), leafHello("two"), ofAcme, 0)
}
