package rpc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// conns are connections to a leader, as a function says.
type conns func(ctx context.Context, method string, answer any) error

func (c conns) Invoke(ctx context.Context, method string, _, answer any, _ ...grpc.CallOption) error {
	return c(ctx, method, answer)
}

func (c conns) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams go to the leader")
}

// follower is a replica with one leaf that does not lead.
func follower(leader grpc.ClientConnInterface) *fleetService {
	return &fleetService{Config: Config{
		Namespace: DefaultNamespace, Version: "v2", Now: func() int64 { return now },
		Live: func() Live {
			return Live{
				Head: &pb.Head{Epoch: 1, Generation: 4}, Confirmed: time.Now().Add(-time.Minute), Away: errors.New("away"),
				Leader: &pb.Leader{Replica: "one"}, Alarms: []string{"mine"},
			}
		},
		Leaves: func() []*pb.LeafState { return []*pb.LeafState{{Leaf: "here"}} },
		Leader: func() (grpc.ClientConnInterface, bool) { return leader, leader != nil },
	}}
}

func TestAReplicaThatDoesNotLeadAsksTheLeaderForTheWholeFleet(t *testing.T) {
	w := newWorld(t)
	head := w.publish(t, 0, sources("1.00", "chat")).GetHead()
	w.leaves = []*pb.LeafState{{Leaf: "here", Node: "n1"}, {Leaf: "elsewhere", Node: "n2"}}
	w.with = func(l *Live) { l.Leads, l.Alarms = true, []string{"theirs"} }
	s := follower(w.conn)
	got, err := s.Status(t.Context(), &pb.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got.GetLeaves() != 2 || got.GetWorkloads() != 1 {
		t.Errorf("not the leader's fleet: %v", got)
	}
	if got.GetLeads() || got.GetServerVersion() != "v2" || got.GetStoreReachable() || got.GetHeadAgeUs() < time.Minute.Microseconds() {
		t.Errorf("not this replica's own: %v", got)
	}
	if diff := cmp.Diff([]string{"theirs", "mine"}, got.GetAlarms()); diff != "" {
		t.Error(diff)
	}
	if got.GetHead().GetGeneration() != 4 || head.GetGeneration() != 1 {
		t.Errorf("an older head: %v", got.GetHead())
	}
	clients, err := s.ListClients(t.Context(), &pb.ListClientsRequest{})
	if err != nil || len(clients.GetClients()) != 2 {
		t.Error(clients, err)
	}
	endpoints, err := s.ListEndpoints(t.Context(), &pb.ListEndpointsRequest{})
	if err != nil || len(endpoints.GetEndpoints()) != 2 {
		t.Error(endpoints, err)
	}
}

func TestWhenTheLeaderIsSilentAReplicaSaysWhatItKnowsWithin2sAndThatThatIsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := follower(conns(func(ctx context.Context, _ string, _ any) error {
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}))
		begin := time.Now()
		got, err := s.Status(t.Context(), &pb.StatusRequest{})
		if err != nil || got.GetLeaves() != 1 {
			t.Fatal(got, err)
		}
		if took := time.Since(begin); took != leaderWithin {
			t.Errorf("after %v", took)
		}
		want := []string{"mine", "the leader does not answer: nothing came within 2s: this is what one replica knows"}
		if diff := cmp.Diff(want, got.GetAlarms()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBetweenTwoLeadersAReplicaSaysThatNobodyLeads(t *testing.T) {
	got, err := follower(nil).Status(t.Context(), &pb.StatusRequest{})
	if err != nil || len(got.GetAlarms()) != 2 || got.GetAlarms()[1] != "nobody leads: this is what one replica knows" {
		t.Error(got, err)
	}
}

// headers are those of one answer.
type headers struct{ metadata.MD }

func (*headers) Method() string                    { return "" }
func (h *headers) SetHeader(md metadata.MD) error  { h.MD = metadata.Join(h.MD, md); return nil }
func (h *headers) SendHeader(md metadata.MD) error { return h.SetHeader(md) }
func (h *headers) SetTrailer(md metadata.MD) error { return h.SetHeader(md) }

func TestAListThatLacksTheLeadersPartSaysSo(t *testing.T) {
	s := follower(conns(func(context.Context, string, any) error { return status.Error(codes.Unavailable, "gone") }))
	h := &headers{}
	got, err := s.ListClients(grpc.NewContextWithServerTransportStream(t.Context(), h), &pb.ListClientsRequest{})
	if err != nil || len(got.GetClients()) != 1 {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff([]string{"the leader does not answer: gone: this is what one replica knows"}, h.Get(WarningKey)); diff != "" {
		t.Error(diff)
	}
}

func TestACallThatWasPassedOnIsNotPassedOnAgain(t *testing.T) {
	asked := 0
	s := follower(conns(func(ctx context.Context, _ string, _ any) error {
		asked++
		return status.Error(codes.Unavailable, "gone")
	}))
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(forwarded, "1"))
	_, err := s.Status(ctx, &pb.StatusRequest{})
	wantCode(t, err, codes.Unavailable, "does not lead")
	if asked != 0 {
		t.Error("a second hop")
	}
}

func TestALeaderThatRefusesIsNotAway(t *testing.T) {
	s := follower(conns(func(context.Context, string, any) error { return status.Error(codes.NotFound, "no such leaf") }))
	_, err := s.Explain(t.Context(), &pb.ExplainRequest{Client: "x"})
	wantCode(t, err, codes.NotFound, "no such leaf")
}

func TestWhoGoesAwayIsNotAnsweredInTheLeadersPlace(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s := follower(conns(func(ctx context.Context, _ string, _ any) error {
		stop()
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}))
	_, err := s.ListClients(ctx, &pb.ListClientsRequest{})
	wantCode(t, err, codes.Canceled)
}
