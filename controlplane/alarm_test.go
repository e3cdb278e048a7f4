package controlplane

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// raw is a stream whose messages a test writes itself.
type raw struct {
	pb.SyncService_SyncClient
	stop func()
}

// claiming is a child that says it holds a generation of the store's catalog.
func (s *seat) claiming(name string, generation uint64) raw {
	t := s.council.t
	options, _ := s.council.options("")
	conn, err := grpc.NewClient("passthrough:///"+s.relay.self.Address, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := pb.NewSyncServiceClient(conn).Sync(ctx)
	if err != nil {
		t.Fatal(err)
	}
	hello := &pb.Hello{
		Leaf: name, Node: "node-" + name, Subscribe: &pb.Subscribe{View: 1, All: true},
		Held: []*pb.Held{{Track: pb.Track_TRACK_CATALOG, View: 1, Version: &pb.Version{StoreId: "s", Epoch: 1, Generation: generation}}},
	}
	if err := stream.Send(&pb.SyncRequest{Sequence: 1, Message: &pb.SyncRequest_Hello{Hello: hello}}); err != nil {
		t.Fatal(err)
	}
	return raw{stream, func() { cancel(); conn.Close() }}
}

// Rule 3: what one claims is not believed; what two identities claim is an alarm.
func TestTwoWhoHoldMoreThanHeadRaiseAnAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 1)
		defer c.stop()
		s := c.leads()
		s.leaves.Store(&[]*pb.LeafState{{Leaf: "one", Node: "n1", Version: &pb.Version{StoreId: "s", Epoch: 1, Generation: 9}}})
		look := func() []string {
			s.claims.look()
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			return s.origin.state().Alarms
		}
		if a := look(); len(a) > 0 {
			t.Errorf("one claim is believed: %v", a)
		}
		s.leaves.Store(&[]*pb.LeafState{
			{Leaf: "one", Node: "n1", Version: &pb.Version{StoreId: "s", Epoch: 1, Generation: 9}},
			{Leaf: "two", Node: "n2", Version: &pb.Version{StoreId: "s", Epoch: 1, Generation: 9}},
			{Leaf: "gone", Node: "n3", Gone: true, Version: &pb.Version{StoreId: "s", Epoch: 1, Generation: 99}},
			{Leaf: "elsewhere", Node: "n4", Version: &pb.Version{StoreId: "other", Epoch: 9, Generation: 99}},
		})
		a := look()
		if len(a) != 1 || !strings.HasPrefix(a[0], regressed) || !strings.Contains(a[0], "generation 9 of epoch 1") {
			t.Fatalf("alarms: %q", a)
		}
		time.Sleep(10 * time.Second)
		written := 0
		c.mu.Lock()
		for _, e := range c.events {
			if e.GetKind() == eventAlarm && e.GetName() == regressed {
				written++
			}
		}
		c.mu.Unlock()
		if written != 1 {
			t.Errorf("%d events tell of it", written)
		}
		s.leaves.Store(&[]*pb.LeafState{}) // adopted: they run what it has
		s.regress.Store(nil)
		time.Sleep(10 * time.Second)
		if a := s.origin.state().Alarms; len(a) > 0 {
			t.Errorf("after the store was adopted: %q", a)
		}
	})
}

// Rule 3: a server that is behind its client keeps the stream, serves the fleet and sends no
// catalog; that its claim is looked at needs no more than the claim.
func TestAReplicaThatIsBehindItsChildAsksTheStoreAndServesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 1)
		defer c.stop()
		s := c.leads()
		ahead := s.claiming("ahead", 9)
		defer ahead.stop()
		for fleet := false; !fleet; {
			m, err := ahead.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if m.GetUpdate().GetTrack() == pb.Track_TRACK_CATALOG {
				t.Errorf("it was sent generation %d", m.GetUpdate().GetVersion().GetGeneration())
			}
			fleet = m.GetUpdate().GetTrack() == pb.Track_TRACK_FLEET
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if _, claimed := s.claimed.Load("node node-ahead"); !claimed {
			t.Error("the store was not asked about the claim")
		}
		if a := s.origin.state().Alarms; len(a) > 0 {
			t.Errorf("one claim is believed: %q", a)
		}
	})
}
