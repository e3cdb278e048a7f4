package uplink

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Rule 4: hello names what is held of each track and view, and the last version nacked.
func TestRule4HelloSaysWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, hello := r.joined(t)
		if diff := cmp.Diff(&pb.Hello{Leaf: "leaf", Subscribe: &pb.Subscribe{View: 1, All: true}}, hello, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if c.last.m.Sequence != 1 || c.last.at.Sub(c.at) > 0 {
			t.Errorf("hello is message %d, %v late", c.last.m.Sequence, c.last.at.Sub(c.at))
		}
		s, f := catalog(5, "a"), fleet(3, 4, 0, "e")
		c.applied(t, 1, s)
		c.applied(t, 1, f)
		r.fail = errBad
		c.update(t, wire.Whole(0, 1, catalog(6, "b")))
		c.quit <- nil
		_, hello = r.joined(t)
		want := []*pb.Held{
			{Track: pb.Track_TRACK_CATALOG, View: 1, Version: version(5), Digest: s.Digest(), Nacked: version(6)},
			{Track: pb.Track_TRACK_FLEET, View: 1, Version: f.Version(), Digest: f.Digest()},
		}
		if diff := cmp.Diff(want, hello.Held, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
}

// Rule 4: several views share one stream; subscribe changes them later.
func TestRule4ViewsShareAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := made(t, 1, func(c *Config) { c.Hello = &pb.Hello{Leaf: "agent", Relay: true} })
		r.link.Subscribe(2, Want{Selector: wire.Selector{Workloads: []string{"b"}}, Identity: "bob"})
		r.link.Subscribe(1, Want{Selector: wire.Selector{Workloads: []string{"a"}}, Identity: "alice"})
		r.run(t)
		c, hello := r.joined(t)
		expect := func(got, want *pb.Subscribe) {
			t.Helper()
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		}
		expect(hello.Subscribe, &pb.Subscribe{View: 1, Workloads: []string{"a"}, Identity: "alice"})
		expect(c.next(t).GetSubscribe(), &pb.Subscribe{View: 2, Workloads: []string{"b"}, Identity: "bob"})

		c.applied(t, 1, catalog(1, "a"))
		c.applied(t, 2, catalog(1, "b"))
		r.link.Subscribe(3, Want{Selector: wire.Selector{All: true}, Identity: "carol"})
		expect(c.next(t).GetSubscribe(), &pb.Subscribe{View: 3, All: true, Identity: "carol"})
		r.link.Subscribe(1, Want{Selector: wire.Selector{Workloads: []string{"a", "b"}}, Identity: "alice"})
		expect(c.next(t).GetSubscribe(), &pb.Subscribe{View: 1, Workloads: []string{"a", "b"}, Identity: "alice"})
		r.link.Unsubscribe(2)
		expect(c.next(t).GetSubscribe(), &pb.Subscribe{View: 2, Drop: true})
		r.link.Subscribe(3, Want{Selector: wire.Selector{All: true}, Identity: "carol"}) // as it is
		c.quiet(t, 5*time.Second)

		c.update(t, wire.Whole(0, 2, catalog(2, "b"))) // it crossed the drop
		c.quiet(t, 5*time.Second)
		c.heartbeat(t)
		held := c.next(t).GetAck().Held
		if len(held) != 1 || held[0].View != 1 {
			t.Errorf("held %v, want view 1 as it was until better comes", held)
		}
		r.link.Subscribe(1, Want{Selector: wire.Selector{Workloads: []string{"a"}}, Identity: "bob"})
		c.next(t)
		c.heartbeat(t)
		if held := c.next(t).GetAck().Held; len(held) != 0 {
			t.Errorf("bob holds %v, which was alice's", held)
		}
	})
}

func TestAWantThatComesBackIsNoNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		r.link.Unsubscribe(1)
		r.link.Subscribe(1, Want{Selector: wire.Selector{All: true}, Identity: ""})
		c.quiet(t, 5*time.Second)
	})
}
