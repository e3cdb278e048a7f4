package controlplane

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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
		if diff := cmp.Diff(a, c.rung(regressed)); diff != "" {
			t.Error(diff)
		}
		s.leaves.Store(&[]*pb.LeafState{}) // adopted: they run what it has
		s.regress.Store(nil)
		time.Sleep(10 * time.Second)
		if a := s.origin.state().Alarms; len(a) > 0 {
			t.Errorf("after the store was adopted: %q", a)
		}
		if diff := cmp.Diff([]string{a[0], "store_regressed: no more"}, c.rung(regressed)); diff != "" {
			t.Error(diff)
		}
	})
}

// rung is what events tell of an alarm.
func (c *council) rung(alarm string) (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.GetKind() == eventAlarm && e.GetName() == alarm {
			out = append(out, e.GetName()+": "+e.GetEvidence())
		}
	}
	return out
}

func TestAnAlarmOfNamesIsAnEventWhenItComesAndWhenItGoesNotWhenItIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 2)
		defer c.stop()
		s := c.leads()
		next := c.others(s)[0]
		apply := func(endpoints ...string) {
			for _, s := range c.seats {
				s.judge.apply(named(endpoints...))
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		text := func(names string) string {
			return "unresolved: no answer for " + names + ": the instances stay as they were; the leader's log says why"
		}
		rung := func(want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, c.rung(unresolved)); diff != "" {
				t.Error(diff)
			}
		}
		apply("x=a:80")
		rung(text("a:80"))
		apply("x=a:80", "y=b:80")
		rung(text("a:80")) // status has the rest
		if a := s.origin.state().Alarms; !slices.Equal(a, []string{text("a:80, b:80")}) {
			t.Errorf("alarms: %q", a)
		}
		s.resign()
		if c.leads(s) != next {
			t.Fatal("somebody else leads")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if a := s.origin.state().Alarms; len(a) > 0 {
			t.Errorf("it does not lead any more, and has %q", a)
		}
		rung(text("a:80"), text("a:80, b:80")) // as the next leader found it
		apply("x=")
		rung(text("a:80"), text("a:80, b:80"), "unresolved: no more")
	})
}

// Rule 3: who makes up one half of who claims has not made two.
func TestWhoClaimsIsCountedByWhatOneCannotMakeUp(t *testing.T) {
	head := &pb.Head{StoreId: "s", Epoch: 1, Generation: 3}
	leaf := func(identity, node string, generation uint64) *pb.LeafState {
		return &pb.LeafState{Leaf: identity + node, Identity: identity, Node: node, Version: &pb.Version{StoreId: "s", Epoch: 1, Generation: generation}}
	}
	behind := func(agent string, l *pb.LeafState) *pb.LeafState {
		l.Via = agent
		return l
	}
	for name, c := range map[string]struct {
		leaves   []*pb.LeafState
		held, of int
	}{
		"identities of one agent":   {[]*pb.LeafState{leaf("cn/a", "n", 9), leaf("cn/b", "n", 9), leaf("cn/c", "n", 9)}, 1, 1},
		"nodes of one identity":     {[]*pb.LeafState{leaf("cn/a", "1", 9), leaf("cn/a", "2", 9), leaf("cn/a", "3", 9)}, 1, 1},
		"two on two":                {[]*pb.LeafState{leaf("cn/a", "1", 9), leaf("cn/b", "2", 9)}, 2, 2},
		"who holds head is counted": {[]*pb.LeafState{leaf("cn/a", "1", 9), leaf("cn/b", "2", 3), leaf("cn/c", "3", 3)}, 1, 3},
		"one user of two hosts":     {[]*pb.LeafState{behind("agent-1", leaf("uid/0", "1", 9)), behind("agent-2", leaf("uid/0", "2", 9))}, 2, 2},
		"one user, nodes made up":   {[]*pb.LeafState{leaf("uid/0", "1", 9), leaf("uid/0", "2", 9)}, 1, 1},
		"nobody in particular":      {[]*pb.LeafState{leaf("", "1", 9), leaf("", "2", 9)}, 2, 2},
	} {
		if got := claimed(c.leaves, head); len(got.Held) != c.held || got.Of != c.of {
			t.Errorf("%s: %d of %d, want %d of %d", name, len(got.Held), got.Of, c.held, c.of)
		}
	}
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
