package uplink

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

var errBad = errors.New("bad content")

// Rules 6 and 7: an update is applied, then acked by version; what cannot be used is in it.
func TestRule7AnAckNamesTheVersionAndWhatIsUnusable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		r.unusable = []*pb.Unusable{{Workload: "chat", Reason: "strategy"}}
		s := catalog(5, "a")
		want := &pb.Ack{
			Held:     []*pb.Held{{Track: pb.Track_TRACK_CATALOG, View: 1, Version: version(5), Digest: s.Digest()}},
			Unusable: r.unusable,
		}
		if diff := cmp.Diff(want, c.applied(t, 1, s), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		c.applied(t, 1, catalog(6, "a", "b"))
		if len(r.applied) != 2 || !r.applied[0].cold || r.applied[1].cold {
			t.Errorf("applied %+v, want the first cold, the second not", r.applied)
		}
		if r.seen(Connected) != 1 || r.seen(Applied) != 2 {
			t.Errorf("events %v", r.events)
		}
	})
}

// Rule 6: bad content is nacked and the state that was held stays. Rule 7: it is said in the next hello.
func TestRule6BadContentIsNackedAndNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.applied(t, 1, catalog(5, "a"))
		r.fail = errBad
		c.update(t, wire.Whole(0, 1, catalog(6, "b")))
		want := &pb.Nack{Track: pb.Track_TRACK_CATALOG, View: 1, Version: version(6), Reason: "bad content"}
		if diff := cmp.Diff(want, c.next(t).GetNack(), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		c.heartbeat(t)
		if held := c.next(t).GetAck().Held[0]; held.Version.Generation != 5 || held.Nacked.GetGeneration() != 6 {
			t.Errorf("held %v", held)
		}
		r.fail = errors.New(strings.Repeat("é", 1<<20)) // wrong in every place
		c.update(t, wire.Whole(0, 1, catalog(6, "c")))
		if n := len(c.next(t).GetNack().GetReason()); n == 0 || n > maxReason+10 {
			t.Errorf("a reason of %d bytes", n)
		}
		r.fail = nil
		if held := c.applied(t, 1, catalog(7, "c")).Held[0]; held.Version.Generation != 7 || held.Nacked != nil {
			t.Errorf("after a good one: held %v", held)
		}
	})
}

// Rule 6: a digest mismatch asks for the whole state once; a second one is a nack.
func TestRule6ADigestMismatchAsksForTheWholeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.applied(t, 1, catalog(5, "a"))
		asked := func() {
			t.Helper()
			if m := c.next(t).GetSubscribe(); m == nil || !m.Drop || m.View != 1 {
				t.Fatalf("got %v, want the view dropped", m)
			}
			if m := c.next(t).GetSubscribe(); m == nil || m.Drop || m.View != 1 || !m.All {
				t.Fatalf("got %v, want the view again", m)
			}
		}
		c.update(t, damaged(catalog(6, "b")))
		asked()
		late := damaged(catalog(6, "b"))
		late.Since = version(5)
		c.update(t, late) // on its way when the whole was asked for
		c.quiet(t, 5*time.Second)
		c.applied(t, 1, catalog(6, "b"))

		c.update(t, damaged(catalog(7, "c")))
		asked()
		c.update(t, damaged(catalog(7, "c")))
		if m := c.next(t).GetNack(); m == nil || m.Version.Generation != 7 || !strings.Contains(m.Reason, "digest") {
			t.Errorf("got %v, want a nack", c.last.m)
		}
		if diff := cmp.Diff([]uint64{5, 6}, r.generations()); diff != "" {
			t.Error(diff)
		}
	})
}

// Rule 6: what was asked for is forgotten with the stream; the next parent may send changes.
func TestRule6AnotherParentMaySendChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.applied(t, 1, catalog(5, "a"))
		c.update(t, damaged(catalog(6, "b")))
		c.quit <- errBad
		c, _ = r.joined(t)
		u := wire.Whole(0, 1, catalog(6, "a", "b"))
		u.Since = version(5)
		c.update(t, u)
		if held := c.next(t).GetAck().GetHeld(); len(held) != 1 || held[0].Version.Generation != 6 {
			t.Errorf("got %v, want an ack", c.last.m)
		}
	})
}

// Rule 5: an update above what is held needs the whole state too.
func TestRule5AnUpdateAboveWhatIsHeldAsksForTheWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		u := wire.Whole(0, 1, catalog(6, "b"))
		u.Since = version(5)
		c.update(t, u)
		if m := c.next(t).GetSubscribe(); m == nil || !m.Drop {
			t.Errorf("got %v, want the view dropped", c.last.m)
		}
	})
}

// Rule 2: versions are ordered by (epoch, generation); an older one is never applied.
func TestRule2AnOlderVersionIsNeverApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		newer := version(1)
		newer.Epoch = 2
		for _, s := range []*wire.State{
			catalog(5, "a"), catalog(4, "b"), catalog(5, "a"), catalog(5, "c"),
			state(pb.Track_TRACK_CATALOG, newer, pb.Kind_KIND_QUOTA, 0, "d"), catalog(9, "e"),
		} {
			c.applied(t, 1, s)
		}
		// 4 is older, and 9 of an older epoch; 5 again says nothing new, with another digest it does (rule 5).
		if diff := cmp.Diff([]uint64{5, 5, 1}, r.generations()); diff != "" {
			t.Error(diff)
		}
	})
}

// Rule 2: two stores are not one control plane.
func TestRule2AnotherStoreIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.applied(t, 1, catalog(5, "a"))
		other := version(50)
		other.StoreId = "other"
		c.update(t, wire.Whole(0, 1, state(pb.Track_TRACK_CATALOG, other, pb.Kind_KIND_QUOTA, 0, "b")))
		c.quiet(t, 100*time.Millisecond)
		s := r.link.Status()
		if s.Connected || s.Err == nil || !strings.Contains(s.Err.Error(), `"other"`) || !strings.Contains(s.Err.Error(), `"store"`) {
			t.Errorf("status %+v", s)
		}
		if diff := cmp.Diff([]uint64{5}, r.generations()); diff != "" {
			t.Error(diff)
		}
	})
}

// Rule 8: a catalog that becomes empty without a reason is refused; with one it is applied.
func TestRule8EmptyIsSuspicious(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.applied(t, 1, catalog(5, "a"))
		c.update(t, wire.Whole(0, 1, catalog(6)))
		if m := c.next(t).GetNack(); m == nil || m.Version.Generation != 6 {
			t.Errorf("got %v, want a nack", c.last.m)
		}
		c.applied(t, 1, catalog(7).Because(pb.EmptyReason_EMPTY_REASON_PERMISSION))
		if diff := cmp.Diff([]uint64{5, 7}, r.generations()); diff != "" {
			t.Error(diff)
		}
	})
}

// Rule 12: losing the stream changes nothing that was applied.
func TestRule12LosingTheStreamChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.applied(t, 1, catalog(5, "a"))
		c.applied(t, 1, fleet(1, 1, 0, "e"))
		c.quit <- errBad
		r.joined(t)
		if len(r.applied) != 2 || r.seen(Lost) != 1 {
			t.Errorf("applied %d times, events %v", len(r.applied), r.events)
		}
	})
}

func TestWhatALaterVersionSaysIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.say(t, &pb.SyncResponse{})
		c.update(t, &pb.Update{View: 1, Track: 9, Version: version(1)})
		c.quiet(t, 5*time.Second)
		c.applied(t, 1, catalog(5, "a"))
	})
}
