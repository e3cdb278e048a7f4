package agent

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/pointsman/pointsman/clientlib/uplink"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestStatesComeDownTwoRelaysAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := now()
		c := startChain(t, catalog(1, "a", "b"), fleet(1, made, "a"))
		defer c.stop()
		time.Sleep(3 * time.Second)
		if got := c.leaf.state(pb.Track_TRACK_CATALOG); !cmp.Equal(got.Digest(), catalog(1, "a", "b").Digest()) {
			t.Errorf("the catalog has %d resources", got.Len())
		}
		e, _ := c.leaf.state(pb.Track_TRACK_FLEET).Lookup(wire.Key{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: "a"})
		if late := e.At - made; late > 0 || late < -int64(3*time.Second/time.Microsecond) {
			t.Errorf("the row is dated %d µs from when it was made; never later", late)
		}
		c.replica.hub.PublishUrgent(c.replica.views[0], fleet(2, now(), "a", "open"))
		if got := c.leaf.state(pb.Track_TRACK_FLEET); got.Version().Sequence != 2 {
			t.Errorf("an urgent state did not pass at once: %v", got.Version())
		}
	})
}

func TestAgesAddUpOverRelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startChain(t, catalog(1, "a"))
		defer c.stop()
		for range 4 {
			time.Sleep(47 * time.Second)
			heads := c.leaf.link.Status().Heads
			if len(heads) != 1 || heads[0].Generation != 7 {
				t.Fatalf("heads: %v", heads)
			}
			if age, real := heads[0].AgeUs, now()-c.replica.head; age < real || age > real+20e6 {
				t.Errorf("the head seems %d µs old, and is %d", age, real)
			}
		}
		c.replica.stop()
		time.Sleep(5 * time.Minute)
		if age, real := c.leaf.link.Status().Heads[0].AgeUs, now()-c.replica.head; age < real {
			t.Errorf("cut off, the head seems %d µs old, and is %d", age, real)
		}
		if !c.leaf.link.Status().Connected {
			t.Error("the leaf lost its own agent")
		}
	})
}

func TestLeavesAreKnownAboveAndTheirEndIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startChain(t, catalog(1, "a"))
		defer c.stop()
		time.Sleep(15 * time.Second)
		want := []*pb.LeafState{{Leaf: "leaf", Node: "far", Library: "go", Incarnation: 4, Version: catalog(1).Version(), Via: "far"}}
		ages := protocmp.IgnoreFields(&pb.LeafState{}, "age_us")
		if diff := cmp.Diff(want, c.replica.hub.Leaves(), protocmp.Transform(), ages); diff != "" {
			t.Error(diff)
		}
		c.replica.hub.PublishUrgent(c.replica.views[0], catalog(66, "bad"))
		time.Sleep(300 * time.Millisecond)
		if got := c.replica.hub.Leaves()[0]; got.Nack != "no such strategy" || got.Nacked.GetGeneration() != 66 || got.Version.Generation != 1 {
			t.Errorf("after a nack: %v", got)
		}
		c.replica.heard()
		c.leaf.stop()
		time.Sleep(300 * time.Millisecond)
		states := c.replica.heard().States
		if len(states) != 1 || !states[0].Gone || states[0].Leaf != "leaf" {
			t.Errorf("after its end: %v", states)
		}
	})
}

func TestReportsGoUpAndGrantsComeDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startChain(t, catalog(1, "a"))
		defer c.stop()
		time.Sleep(15 * time.Second)
		c.replica.heard()
		c.leaf.link.Report(now(), &pb.Report{Leaves: []*pb.LeafReport{{
			Leaf: "leaf", Incarnation: 4, Sequence: 9, AgeUs: 1000, Votes: []*pb.Vote{{Endpoint: "a"}},
		}}})
		time.Sleep(300 * time.Millisecond)
		got := c.replica.heard().Leaves
		want := []*pb.LeafReport{{Leaf: "leaf", Node: "far", Incarnation: 4, Sequence: 9, Votes: []*pb.Vote{{Endpoint: "a"}}}}
		ages := protocmp.IgnoreFields(&pb.LeafReport{}, "age_us")
		if diff := cmp.Diff(want, got, protocmp.Transform(), ages); diff != "" {
			t.Fatal(diff)
		}
		if got[0].AgeUs < 51_000 || got[0].AgeUs > 301_000 {
			t.Errorf("%d µs old, want the waits at two agents and one replica added", got[0].AgeUs)
		}
		sent := now()
		grant := &pb.Grant{Leaf: "leaf", Number: 3, Term: 2, What: &pb.Grant_Permit{Permit: &pb.Permit{Endpoint: "a", UseByUs: 20e6}}}
		if !c.replica.hub.Grant(sent, grant) {
			t.Fatal("nobody speaks for the leaf")
		}
		synctest.Wait()
		if len(c.leaf.grants) != 1 {
			t.Fatalf("%d grants came", len(c.leaf.grants))
		}
		if until := c.leaf.dated[0] + c.leaf.grants[0].GetPermit().UseByUs; until > sent+20e6 {
			t.Errorf("the permit ends %d µs too late", until-sent-20e6)
		}
	})
}

func TestAnAgentStartsFromItsDiskWhenTheControlPlaneIsAway(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		top, bottom := newPlace(), newPlace()
		r := serveReplica(top, catalog(5, "a", "b"))
		a := serveAgent(t, Config{Node: "n", Dir: dir}, top, bottom)
		l := startLeaf(t, "leaf", bottom)
		time.Sleep(3 * time.Second)
		l.stop()
		a.stop()
		r.stop()

		bottom = newPlace()
		var log lines
		a = serveAgent(t, Config{Node: "n", Dir: dir, Logger: hclog.New(&hclog.LoggerOptions{Output: &log})}, top, bottom)
		defer a.stop()
		l = startLeaf(t, "leaf", bottom)
		defer l.stop()
		time.Sleep(time.Minute)
		if got := l.state(pb.Track_TRACK_CATALOG); got.Version().GetGeneration() != 5 || got.Len() != 2 {
			t.Errorf("got %v with %d resources", got.Version(), got.Len())
		}
		if n := log.with("serving the last good states"); n != 1 {
			t.Errorf("said %d times: %q", n, log.all)
		}
	})
}

func TestALibraryReachesItsAgentByTheSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "run", "agent.sock")
	a, err := New(Config{Parents: parents, Socket: socket, Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { _ = a.Run(ctx) })
	connected := make(chan bool, 1)
	link, err := uplink.New(uplink.Config{
		Parents: []string{"unix://" + a.Addr().String()}, Now: now, Hello: &pb.Hello{Leaf: "leaf"},
		Observe: func(e uplink.Event) {
			if e.Kind == uplink.Connected {
				connected <- true
			}
		},
	}, &leaf{})
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() { _ = link.Run(ctx) })
	select {
	case <-connected:
	case <-time.After(10 * time.Second):
		t.Fatalf("not connected: %v", link.Status().Err)
	}
	if leaves := a.Status().Leaves; len(leaves) != 1 || leaves[0].Leaf != "leaf" {
		t.Errorf("leaves: %v", leaves)
	}
}

func TestAnOrderlyStopWarnsOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top, bottom := newPlace(), newPlace()
		r := serveReplica(top, catalog(5, "a"))
		defer r.stop()
		var log lines
		a := serveAgent(t, Config{Node: "n", Logger: hclog.New(&hclog.LoggerOptions{Output: &log})}, top, bottom)
		l := startLeaf(t, "leaf", bottom)
		time.Sleep(3 * time.Second)
		l.stop()
		a.stop()
		if n := log.with("[WARN]"); n != 0 {
			t.Errorf("%d warnings: %q", n, log.all)
		}
		if log.with("the stream to the parent ended") != 1 || log.with("child left: child=leaf kind=leaf") != 1 {
			t.Errorf("said %q", log.all)
		}
	})
}

func TestAParentThatStopsIsNoFaultThatNoneAnswersIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top, bottom := newPlace(), newPlace()
		r := serveReplica(top, catalog(5, "a"))
		var log lines
		a := serveAgent(t, Config{Node: "n", Logger: hclog.New(&hclog.LoggerOptions{Output: &log})}, top, bottom)
		defer a.stop()
		time.Sleep(3 * time.Second)
		r.hub.Goodbye("stopping")
		synctest.Wait()
		r.stop()
		if log.with("[WARN]") != 0 || log.with("the parent said goodbye: stopping") != 1 {
			t.Errorf("after a goodbye: %q", log.all)
		}
		time.Sleep(time.Minute)
		if log.with("no stream to the parent") != 1 {
			t.Errorf("while nobody answers: %q", log.all)
		}
	})
}
