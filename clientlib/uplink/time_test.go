package uplink

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Rule 9: a message that was frozen on its way never makes a row, a grant or a head fresh.
func TestRule9AFrozenMessageMakesNothingFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		sent := r.now()
		time.Sleep(25 * time.Second) // the child sends nothing, and this waits in some buffer
		u := wire.Whole(1000, 1, fleet(1, 1, 400, "e"))
		c.sayAsIs(t, &pb.SyncResponse{Seen: 1, HeldUs: 100, Message: &pb.SyncResponse_Update{Update: u}})
		c.next(t)
		row, _ := r.applied[0].state.Lookup(wire.Key{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: "e"})
		if want := sent + 100 - 600; row.At != want {
			t.Errorf("the row is dated %d, want %d", row.At, want)
		}
		grant := &pb.Grant{Number: 7, Term: 1, Leaf: "leaf"}
		c.sayAsIs(t, &pb.SyncResponse{Seen: 1, HeldUs: 100, Message: &pb.SyncResponse_Grant{Grant: grant}})
		if len(r.grants) != 1 || r.grants[0] != (granted{sent + 100, 7}) {
			t.Errorf("grants %+v, want one dated %d", r.grants, sent+100)
		}
		beat := &pb.Heartbeat{Heads: []*pb.HeadAge{{Track: pb.Track_TRACK_CATALOG, AgeUs: 50, Generation: 3}}}
		c.sayAsIs(t, &pb.SyncResponse{Seen: 1, HeldUs: 100, Message: &pb.SyncResponse_Heartbeat{Heartbeat: beat}})
		if age := r.link.Status().Heads[0].AgeUs; age != r.now()-sent-100+50 {
			t.Errorf("the head is %d µs old", age)
		}
	})
}

// Rule 9: a suspend ages what is held, and ends the stream whose dates it spoils.
func TestRule9ASuspendAgesWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.applied(t, 1, catalog(5, "a"))
		c.applied(t, 1, fleet(1, 1, -1000, "e"))
		c.heartbeat(t, &pb.HeadAge{Track: pb.Track_TRACK_FLEET})
		c.next(t)
		key := wire.Key{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: "e"}
		before, _ := r.applied[1].state.Lookup(key)

		r.wall.Add((4 * time.Second).Microseconds()) // a clock that is set a little is no suspend
		time.Sleep(2 * time.Second)
		if len(r.applied) != 2 {
			t.Fatal("4 s count")
		}
		r.wall.Add(time.Hour.Microseconds())
		c, hello := r.joined(t)
		if len(hello.Held) != 0 || r.seen(Slept) != 1 {
			t.Errorf("held %v, events %v", hello.Held, r.events)
		}
		after, _ := r.applied[3].state.Lookup(key)
		if got := before.At - after.At; got != time.Hour.Microseconds() {
			t.Errorf("the row aged by %d µs", got)
		}
		if age := r.link.Status().Heads[0].AgeUs; age < time.Hour.Microseconds() {
			t.Errorf("the head is %d µs old", age)
		}

		c.applied(t, 1, catalog(5, "a"))
		c.applied(t, 1, fleet(1, 1, -1000, "e")) // the clock was only set: the next parent knows better
		again, _ := r.applied[5].state.Lookup(key)
		if again.At < before.At {
			t.Errorf("the row is dated %d, %d before", again.At, before.At)
		}
		if diff := cmp.Diff([]uint64{5, 5, 5}, r.generations()); diff != "" {
			t.Error(diff)
		}
	})
}

// Rule 9: what arrives right after a suspend, before anybody looked at the clocks, is not taken.
func TestRule9NothingIsDatedAcrossASuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.applied(t, 1, catalog(5, "a"))
		r.wall.Add(time.Hour.Microseconds())
		c.update(t, wire.Whole(0, 1, fleet(1, 1, 0, "e")))
		for _, a := range r.applied {
			if a.state.Track() == pb.Track_TRACK_FLEET {
				t.Error("the update was applied")
			}
		}
		r.joined(t)
	})
}

// Rule 9: a relay that took a set clock for a suspend dates overrides too old, and its parent
// dates them anew at the same version; what has the dates already is not applied again.
func TestRule9ACatalogThatIsDatedAnewIsApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		drain := func(at int64) *wire.State {
			return state(pb.Track_TRACK_CATALOG, version(5), pb.Kind_KIND_OVERRIDE, at, "drain/a")
		}
		c.applied(t, 1, drain(-time.Hour.Microseconds()))
		c.applied(t, 1, drain(-1000))
		c.applied(t, 1, drain(-2000))
		if diff := cmp.Diff([]uint64{5, 5}, r.generations()); diff != "" {
			t.Fatal(diff)
		}
		row, _ := r.applied[1].state.Lookup(wire.Key{Kind: pb.Kind_KIND_OVERRIDE, Name: "drain/a"})
		if age := r.now() - row.At; age < 1000 || age > 2000 {
			t.Errorf("it is %d µs old, want 1000 and the way", age)
		}
	})
}

// Rule 10: a heartbeat is answered with all that is held, and carries the ages of heads.
func TestRule10AHeartbeatIsAnsweredWithAllThatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		r.unusable = []*pb.Unusable{{Workload: "chat"}}
		c.heartbeat(t)
		if a := c.next(t).GetAck(); a == nil || len(a.Held) != 0 {
			t.Errorf("with nothing held: %v", a)
		}
		c.applied(t, 1, catalog(5, "a"))
		c.applied(t, 1, fleet(1, 1, 0, "e"))
		c.heartbeat(t, &pb.HeadAge{Track: pb.Track_TRACK_CATALOG, AgeUs: 7e6, Generation: 5})
		if a := c.next(t).GetAck(); a == nil || len(a.Held) != 2 || len(a.Unusable) != 1 {
			t.Errorf("with both tracks held: %v", a)
		}
		time.Sleep(3 * time.Second)
		heads := r.link.Status().Heads
		if len(heads) != 1 || heads[0].AgeUs != 10e6 || heads[0].Generation != 5 {
			t.Errorf("heads %v, want one of 10 s", heads)
		}
	})
}

// What came down since the last heartbeat is no younger than the head.
func TestTheHeadIsAtLeastWhatCameDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.heartbeat(t, &pb.HeadAge{Track: pb.Track_TRACK_CATALOG, AgeUs: 50}) // nothing is published yet
		c.next(t)
		time.Sleep(time.Second)
		says := func(generation uint64, age int64) {
			t.Helper()
			h := r.link.Status().Heads[0]
			if h.GetGeneration() != generation || h.GetAgeUs() != age {
				t.Errorf("generation %d, %d µs ago; want %d, %d", h.GetGeneration(), h.GetAgeUs(), generation, age)
			}
		}
		says(0, 1e6+50)
		c.applied(t, 1, catalog(5, "a"))
		says(5, 1e6+50) // it says nothing of when it was confirmed
		c.heartbeat(t, &pb.HeadAge{Track: pb.Track_TRACK_CATALOG, Generation: 7})
		c.next(t)
		c.applied(t, 1, catalog(6, "a")) // it has been on its way
		says(7, 0)
	})
}

// Rule 10: three missed heartbeats end the stream, whatever else comes.
func TestRule10ThreeMissedHeartbeatsEndTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		time.Sleep(20 * time.Second)
		c.heartbeat(t)
		c.next(t)
		time.Sleep(29 * time.Second)
		c.applied(t, 1, catalog(5, "a"))
		if s := r.link.Status(); !s.Connected || s.Parent != "127.0.0.1:1" {
			t.Fatalf("after 29 s: %+v", s)
		}
		time.Sleep(time.Second + time.Millisecond)
		s := r.link.Status()
		if s.Connected || s.Err == nil || !strings.Contains(s.Err.Error(), "heartbeat") {
			t.Errorf("after 30 s: %+v", s)
		}
		if s.Since < r.now()-2e6 {
			t.Errorf("since %d, now %d", s.Since, r.now())
		}
	})
}
