package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func (w *world) drain(t *testing.T, endpoint string) (*pb.DrainResponse, error) {
	return w.fleet.Drain(t.Context(), &pb.DrainRequest{Endpoint: endpoint, Actor: "ann", Reason: "maintenance", DurationUs: time.Hour.Microseconds()})
}

func TestADrainThatStrandsAWorkloadNeedsForce(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat", "search"))
	if _, err := w.drain(t, "chat-a"); err != nil {
		t.Fatal(err)
	}
	_, err := w.drain(t, "chat-b")
	if reason := wantCode(t, err, codes.FailedPrecondition, "chat-b", "for chat", "force"); reason != ReasonStrands {
		t.Fatal(reason)
	}
	if got := detail[*errdetails.ErrorInfo](err).GetMetadata()["workloads"]; got != "chat" {
		t.Fatal(got)
	}
	d, err := w.fleet.Drain(t.Context(), &pb.DrainRequest{Endpoint: "chat-b", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	wantServing(t, d.GetHead(), "generation 3 published 1 serving 1 pin 0 pins 0")
	if _, err := w.drain(t, "search-a"); err != nil {
		t.Fatalf("a workload that had nothing before blocks a drain elsewhere: %v", err)
	}
	if _, err := w.fleet.Undrain(t.Context(), &pb.UndrainRequest{Endpoint: "chat-b"}); err != nil {
		t.Fatal(err)
	}
	_, err = w.fleet.Undrain(t.Context(), &pb.UndrainRequest{Endpoint: "chat-b"})
	wantCode(t, err, codes.NotFound)
	_, err = w.drain(t, "nobody")
	wantCode(t, err, codes.NotFound, `"nobody"`)
}

func TestExplainSaysWhyEachEndpointWouldOrWouldNotServe(t *testing.T) {
	w := newWorld(t)
	_, err := w.fleet.Explain(t.Context(), &pb.ExplainRequest{Workload: "chat"})
	wantCode(t, err, codes.NotFound, "nothing is published")
	w.publish(t, 0, sources("1.00", "chat"))
	if _, err := w.drain(t, "chat-a"); err != nil {
		t.Fatal(err)
	}
	e, err := w.fleet.Explain(t.Context(), &pb.ExplainRequest{Workload: "chat", InputTokens: 100})
	if err != nil {
		t.Fatal(err)
	}
	if e.GetGeneration() != 2 || e.GetRevision() != 1 || e.GetStrategy() != "p2c" || !e.GetFleetOnly() || e.GetShed() != "" {
		t.Fatal(e)
	}
	got := map[string]string{}
	for _, c := range e.GetCandidates() {
		got[c.GetEndpoint()] = c.GetTier() + ": " + c.GetReason()
	}
	if diff := cmp.Diff(map[string]string{"chat-a": "first: drained", "chat-b": "second: "}, got); diff != "" {
		t.Fatal(diff)
	}
	e, err = w.fleet.Explain(t.Context(), &pb.ExplainRequest{Workload: "chat", Needs: []string{"vision"}})
	if err != nil || e.GetShed() == "" {
		t.Fatal(e, err)
	}
	_, err = w.fleet.Explain(t.Context(), &pb.ExplainRequest{Workload: "chta"})
	wantCode(t, err, codes.NotFound, `"chta"`)
}

func TestExplainKnowsThatAModelRetired(t *testing.T) {
	w := newWorld(t)
	src := sources("1.00", "chat")
	src.Files[0].Content = bytes.Replace(src.Files[0].Content, []byte("price {"), []byte("retires = \"2020-01-01\"\n price {"), 1)
	w.publish(t, 0, src)
	e, err := w.fleet.Explain(t.Context(), &pb.ExplainRequest{Workload: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range e.GetCandidates() {
		if c.GetReason() != "retired" {
			t.Errorf("%v", c)
		}
	}
}

func TestStatusShowsWhoIsBehindAndWhatIsOpenAlsoWhileEtcdIsAway(t *testing.T) {
	w := newWorld(t)
	head := w.publish(t, 0, sources("1.00", "chat")).GetHead()
	if _, err := w.drain(t, "chat-a"); err != nil {
		t.Fatal(err)
	}
	w.leaves = []*pb.LeafState{
		{Leaf: "current", Node: "n1", Version: &pb.Version{StoreId: head.GetStoreId(), Epoch: 1, Generation: 2}},
		{Leaf: "old", Node: "n1", Version: &pb.Version{StoreId: head.GetStoreId(), Epoch: 1, Generation: 1}},
		{Leaf: "fresh", Node: "n2"},
		{Leaf: "gone", Node: "n3", Gone: true},
	}
	w.with = func(l *Live) {
		l.Away, l.Confirmed, l.Term = errors.New("away"), time.Now().Add(-time.Minute), 7
		l.Fleet, l.Evidence = openAt(t, l.Catalog, "chat-b"), map[string][]string{"chat-b": {"3 of 4 nodes"}}
	}
	s, err := w.fleet.Status(t.Context(), &pb.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if s.GetStoreReachable() || s.GetHeadAgeUs() < time.Minute.Microseconds() || s.GetTerm() != 7 || s.GetServerVersion() != "v1" {
		t.Errorf("%v", s)
	}
	if s.GetLeaves() != 3 || s.GetNodes() != 2 || s.GetEndpoints() != 2 || s.GetWorkloads() != 1 || len(s.GetOverrides()) != 1 {
		t.Errorf("%v", s)
	}
	var late []string
	for _, c := range s.GetBehind() {
		late = append(late, c.GetState().GetLeaf())
	}
	if diff := cmp.Diff([]string{"old", "fresh"}, late); diff != "" {
		t.Error(diff)
	}
	if len(s.GetOpen()) != 1 || s.GetOpen()[0].GetName() != "chat-b" || s.GetOpen()[0].GetEvidence()[0] != "3 of 4 nodes" {
		t.Errorf("open: %v", s.GetOpen())
	}
	if left := s.GetOverrides()[0].GetDurationUs(); left <= 0 || left > time.Hour.Microseconds() {
		t.Errorf("%d µs left of the drain", left)
	}
}

// openAt is a fleet state with one open breaker, made a second ago.
func openAt(t *testing.T, catalog *wire.State, endpoint string) *wire.State {
	key := wire.Key{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: endpoint}
	c, _, err := wire.Catalog(catalog, true)
	if err != nil {
		t.Error(err)
		return nil
	}
	row := route.FleetEndpoint{Name: endpoint, At: now - 1e6, Breakers: []route.FleetBreaker{{State: route.FleetOpen, Round: 1, OpenUntil: now + 10e6}}}
	for _, e := range c.Endpoints {
		if e.Name == endpoint {
			row.Identity = e.Identity
		}
	}
	r, err := wire.EncodeFleetEndpoint(now-1e6, &row)
	if err != nil {
		t.Error(err)
	}
	return wire.NewState(pb.Track_TRACK_FLEET, &pb.Version{Epoch: 1, Term: 7, Sequence: 1},
		map[wire.Key]wire.Entry{key: {Body: r.GetBody(), Hash: wire.HashOf(r.GetBody()), At: now - 1e6}})
}

func TestEndpointsAreListedWithWhatTheFleetKnows(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	w.with = func(l *Live) { l.Fleet = openAt(t, l.Catalog, "chat-b") }
	r, err := w.fleet.ListEndpoints(t.Context(), &pb.ListEndpointsRequest{})
	if err != nil || len(r.GetEndpoints()) != 2 {
		t.Fatal(r, err)
	}
	a, b := r.GetEndpoints()[0], r.GetEndpoints()[1]
	if a.GetName() != "chat-a" || a.GetProvider() != "p" || a.GetModel() != "m" || a.GetFleet() != nil || a.GetIdentity() == b.GetIdentity() {
		t.Fatal(a)
	}
	if b.GetFleetAgeUs() != 1e6 || b.GetFleet().GetBreakers()[0].GetState() != pb.BreakerState_BREAKER_STATE_OPEN {
		t.Fatal(b)
	}
}

func TestAnotherNamespacesFleetIsNotHere(t *testing.T) {
	w := newWorld(t)
	_, err := w.fleet.Status(t.Context(), &pb.StatusRequest{Namespace: "other"})
	wantCode(t, err, codes.NotFound, `"other"`)
	w.with = func(l *Live) { l.Head = nil }
	_, err = w.fleet.ListClients(t.Context(), &pb.ListClientsRequest{})
	wantCode(t, err, codes.Unavailable, "not ready")
}

func TestAnOverrideThatRanOutIsNotShown(t *testing.T) {
	out := standing([]*pb.StoredOverride{
		{Override: &pb.Override{Endpoint: "a"}},
		{Override: &pb.Override{Endpoint: "b", DurationUs: 1}, Until: &timestamppb.Timestamp{Seconds: 1}},
	})
	if diff := cmp.Diff([]*pb.Override{{Endpoint: "a"}}, out, protocmp.Transform()); diff != "" {
		t.Fatal(diff)
	}
}

func TestWhatEtcdRefusesIsToldApart(t *testing.T) {
	for _, c := range []struct {
		err  error
		want codes.Code
		says string
	}{
		{store.ErrUnavailable, codes.Unavailable, "routing goes on"},
		{store.ErrBusy, codes.Aborted, "try again"},
		{store.ErrRegressed, codes.FailedPrecondition, "adopt-store"},
		{store.ErrNoSpace, codes.ResourceExhausted, "compact"},
		{&store.SizeError{Size: 2, Limit: 1}, codes.InvalidArgument, "larger"},
		{errors.New("digest"), codes.Internal, "digest"},
	} {
		wantCode(t, problem(c.err), c.want, c.says)
	}
}

// instanced gives an endpoint of sources its instances.
func instanced(src *pb.Sources, endpoint, instances string) *pb.Sources {
	head := fmt.Sprintf("endpoint %q {\n", endpoint)
	src.Files[0].Content = bytes.Replace(src.Files[0].Content, []byte(head), []byte(head+"  instances = "+instances+"\n"), 1)
	return src
}

// instancesOf is a fleet state with instances of an endpoint, of which the first is half-open and half as fast.
func instancesOf(t *testing.T, catalog *wire.State, endpoint string, addresses ...string) *wire.State {
	c, _, err := wire.Catalog(catalog, true)
	if err != nil {
		t.Error(err)
		return nil
	}
	identity := func(address string) uint64 {
		for i := range c.Endpoints {
			if c.Endpoints[i].Name == endpoint {
				return c.Endpoints[i].At(address).Identity
			}
		}
		return 0
	}
	rows, all := map[wire.Key]wire.Entry{}, &pb.FleetInstances{Endpoint: endpoint}
	add := func(r *pb.Resource, err error) {
		if err != nil {
			t.Error(err)
			return
		}
		rows[wire.Key{Kind: r.GetKind(), Name: r.GetName()}] = wire.Entry{Body: r.GetBody(), Hash: wire.HashOf(r.GetBody()), At: now}
	}
	for _, a := range addresses {
		all.Instances = append(all.Instances, &pb.FleetInstance{Address: a, Identity: identity(a)})
	}
	body, err := proto.Marshal(all)
	add(&pb.Resource{Kind: pb.Kind_KIND_FLEET_INSTANCES, Name: endpoint, Body: body}, err)
	add(wire.EncodeFleetEndpoint(now, &route.FleetEndpoint{
		Name: route.InstanceName(endpoint, addresses[0]), Identity: identity(addresses[0]), At: now, Speed: 0.5,
		Breakers: []route.FleetBreaker{{State: route.FleetHalfOpen, Round: 2}},
	}))
	return wire.NewState(pb.Track_TRACK_FLEET, &pb.Version{Epoch: 1, Term: 7, Sequence: 1}, rows)
}

func TestAnEndpointStandsBeforeItsInstancesWhichHaveBreakersOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, instanced(instanced(sources("1.00", "chat"), "chat-a", `dns("vllm.example:80")`), "chat-b", `["10.0.0.9:80", "10.0.0.8:80"]`))
	w.with = func(l *Live) {
		l.Fleet = instancesOf(t, l.Catalog, "chat-a", "10.0.0.1:80", "10.0.0.2:80")
		l.Reaches = map[string]Reach{route.InstanceName("chat-a", "10.0.0.1:80"): {Reached: 1, Unreached: 2, Reason: "refused"}}
	}
	r, err := w.fleet.ListEndpoints(t.Context(), &pb.ListEndpointsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range r.GetEndpoints() {
		got = append(got, fmt.Sprintf("%s %s speed %v, %d of %d", e.GetName(), e.GetModel(), e.GetSpeed(), e.GetReached(), e.GetReached()+e.GetUnreached()))
	}
	if diff := cmp.Diff([]string{
		"chat-a m speed 0, 0 of 0", "chat-a@10.0.0.1:80 m speed 0.5, 1 of 3", "chat-a@10.0.0.2:80 m speed 0, 0 of 0",
		"chat-b m speed 0, 0 of 0", "chat-b@10.0.0.8:80 m speed 0, 0 of 0", "chat-b@10.0.0.9:80 m speed 0, 0 of 0",
	}, got); diff != "" {
		t.Error(diff)
	}
	b, err := w.fleet.ListBreakers(t.Context(), &pb.ListBreakersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"chat-a@10.0.0.1:80 ANY HALF_OPEN"}, linesOf(b.GetBreakers())); diff != "" {
		t.Error(diff)
	}
	s, err := w.fleet.Status(t.Context(), &pb.StatusRequest{})
	if err != nil || s.GetEndpoints() != 2 || len(s.GetOpen()) != 1 {
		t.Error("instances count as endpoints:", s, err)
	}
}

func TestStatusSaysWhatPausesWhoIsRefusedAndWhoCannotRunAllOfIt(t *testing.T) {
	w := newWorld(t)
	head := w.publish(t, 0, sources("1.00", "chat")).GetHead()
	w.leaves = []*pb.LeafState{{
		Leaf: "partial", Version: &pb.Version{StoreId: head.GetStoreId(), Epoch: 1, Generation: 1}, Unusable: []*pb.Unusable{{Workload: "chat", Reason: "unknown strategy"}},
	}}
	w.with = func(l *Live) {
		l.Leader, l.Leads, l.Alarms = &pb.Leader{Replica: "me"}, true, []string{"store_regressed"}
		l.Spent = []*pb.SpentQuota{{Quota: "q"}}
		l.Shedding = []*pb.SheddingWorkload{{Workload: "chat"}}
	}
	s, err := w.fleet.Status(t.Context(), &pb.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if s.GetLeader().GetReplica() != "me" || !s.GetLeads() || len(s.GetAlarms()) != 1 || len(s.GetSpent()) != 1 || len(s.GetShedding()) != 1 {
		t.Error(s)
	}
	if len(s.GetBehind()) != 1 || s.GetBehind()[0].GetBehind() {
		t.Error(s.GetBehind())
	}
}
