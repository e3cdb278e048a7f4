package rpc

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// lead makes the world's store lead until the test ends.
func (w *world) lead(t *testing.T) *store.Tenure {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	tenures, done := make(chan *store.Tenure, 1), make(chan struct{})
	go func() {
		defer close(done)
		_ = w.store.Lead(ctx, store.Candidate{Replica: "a", Address: "a:1"}, func(ctx context.Context, tenure *store.Tenure) {
			tenures <- tenure
			<-ctx.Done()
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	select {
	case tenure := <-tenures:
		return tenure
	case <-time.After(30 * time.Second):
		t.Fatal("it does not lead")
		return nil
	}
}

// listed are the kinds and endpoints of events, as far as they come without following.
func (w *world) listed(t *testing.T, q *pb.ListEventsRequest) []string {
	t.Helper()
	stream, err := w.fleet.ListEvents(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for {
		m, err := stream.Recv()
		if err != nil {
			return out
		}
		out = append(out, m.GetEvent().GetKind()+" "+m.GetEvent().GetEndpoint())
	}
}

func TestEventsAreChosenByTimeKindAndEndpoint(t *testing.T) {
	w := newWorld(t)
	tenure, begin := w.lead(t), time.Now()
	for i, e := range []*pb.FleetEvent{
		{Kind: "opened", Endpoint: "a"}, {Kind: "closed", Endpoint: "a"}, {Kind: "opened", Endpoint: "b@h:1"}, {Kind: "leader"},
	} {
		e.Time = timestamppb.New(begin.Add(time.Duration(i-4) * time.Hour))
		if err := w.store.AppendEvents(t.Context(), DefaultNamespace, tenure, []*pb.FleetEvent{e}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		ask  *pb.ListEventsRequest
		want []string
	}{
		{"all that is kept", &pb.ListEventsRequest{}, []string{"opened a", "closed a", "opened b@h:1", "leader "}},
		{"since", &pb.ListEventsRequest{Since: timestamppb.New(begin.Add(-150 * time.Minute))}, []string{"opened b@h:1", "leader "}},
		{"kinds", &pb.ListEventsRequest{Kinds: []string{"closed", "leader"}}, []string{"closed a", "leader "}},
		{"an endpoint with its instances", &pb.ListEventsRequest{Endpoint: "b"}, []string{"opened b@h:1"}},
		{"one instance", &pb.ListEventsRequest{Endpoint: "b@h:2"}, nil},
	} {
		if diff := cmp.Diff(c.want, w.listed(t, c.ask)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestMoreEventsThanFitOnePageAllCome(t *testing.T) {
	w := newWorld(t)
	tenure := w.lead(t)
	var many []*pb.FleetEvent
	for i := range 2*pageOfEvents + 1 {
		many = append(many, &pb.FleetEvent{Kind: "opened", Endpoint: fmt.Sprint(i)})
	}
	if err := w.store.AppendEvents(t.Context(), DefaultNamespace, tenure, many); err != nil {
		t.Fatal(err)
	}
	got := w.listed(t, &pb.ListEventsRequest{})
	if len(got) != len(many) || got[len(got)-1] != fmt.Sprintf("opened %d", len(many)-1) {
		t.Errorf("%d of %d events, the last is %q", len(got), len(many), got[max(0, len(got)-1)])
	}
}

func TestWhoFollowsEventsIsToldOfEachOnceAsItComes(t *testing.T) {
	w := newWorld(t)
	tenure := w.lead(t)
	tell := func(name string) {
		if err := w.store.AppendEvents(t.Context(), DefaultNamespace, tenure, []*pb.FleetEvent{{Kind: "opened", Endpoint: name}}); err != nil {
			t.Error(err)
		}
	}
	tell("before")
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	stream, err := w.fleet.ListEvents(ctx, &pb.ListEventsRequest{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before", "then", "last"} {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if got := m.GetEvent().GetEndpoint(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		switch want {
		case "before":
			tell("then")
		case "then":
			tell("last")
		}
	}
	stop()
	_, err = stream.Recv()
	wantCode(t, err, codes.Canceled)
}
