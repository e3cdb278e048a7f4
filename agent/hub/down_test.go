package hub

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestRule7NothingQueuesBehindAnUpdateInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		first := v.update()
		for g := uint64(2); g < 40; g++ {
			w.hub.Publish(everything, catalogAt(g, rows{"a": "1", fmt.Sprint("b", g): "1"}))
			time.Sleep(150 * time.Millisecond)
		}
		if more := v.updates(); more != nil {
			t.Fatalf("%d more were sent before the ack", len(more))
		}
		v.took(first)
		u := v.update()
		if u.Version.Generation != 39 || u.Since.Generation != 1 {
			t.Errorf("from %v to %v, want 1 to 39", u.Since, u.Version)
		}
		state, err := catalogAt(1, rows{"a": "1"}).Apply(0, u)
		if err != nil || state.Len() != 2 {
			t.Errorf("applied: %v, %d resources", err, state.Len())
		}
	})
}

func TestRule11NewsIsCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, nil).Because(pb.EmptyReason_EMPTY_REASON_PUBLISHED_EMPTY), fleetAt(1, 0, nil))
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		for _, u := range v.updates() {
			v.took(u)
		}
		w.hub.Publish(everything, catalogAt(2, rows{"a": "1"}))
		time.Sleep(60 * time.Millisecond)
		w.hub.Publish(everything, catalogAt(3, rows{"a": "2"}))
		time.Sleep(90 * time.Millisecond)
		if early := v.updates(); early != nil {
			t.Fatalf("%d sent within the quiet time", len(early))
		}
		time.Sleep(11 * time.Millisecond)
		if u := v.update(); u.Version.Generation != 3 {
			t.Errorf("sent %v, want the newest", u.Version)
		}
		w.hub.PublishUrgent(everything, fleetAt(2, 0, rows{"a": "open"}))
		if u := v.update(); u.Version.Sequence != 2 {
			t.Errorf("sent %v, want the urgent one at once", u.Version)
		}
	})
}

func TestAReconnectWithTheSameStateIsSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := rows{}
		for i := range 500 {
			big[fmt.Sprint("endpoint", i)] = strings.Repeat("x", 200)
		}
		s := catalogAt(70_000, big)
		s.Version().StoreId, s.Version().Revision = "0b1f4c1e-4d3a-4a53-8f0c-7f4c1a2b3c4d", 60_000
		w := serve(t, nil, s)
		defer w.stop()
		held := &pb.Held{Track: catalogTrack, View: 1, Version: s.Version(), Digest: s.Digest()}
		v := w.visit(helloOf("l", held))
		defer v.leave()
		size := 0
		for _, m := range v.heard() {
			size += proto.Size(m)
			if len(m.GetUpdate().GetUpserts()) != 0 {
				t.Error("resources that it has were sent")
			}
		}
		if size == 0 || size > 200 {
			t.Errorf("%d bytes, want at most 200", size)
		}
		t.Logf("%d bytes", size)
	})
}

func TestAReturningChildGetsWhatChangedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := catalogAt(1, rows{"kept": "1", "changed": "1", "removed": "1"})
		w := serve(t, nil, before)
		defer w.stop()
		v := w.visit(helloOf("l"))
		held := heldOf(v.update())
		v.leave()
		w.hub.PublishUrgent(everything, catalogAt(2, rows{"kept": "1", "changed": "2", "new": "1"}))
		v = w.visit(helloOf("l", held))
		defer v.leave()
		u := v.update()
		if diff := cmp.Diff([]string{"-removed", "changed", "new"}, names(u)); diff != "" || u.Since.GetGeneration() != 1 {
			t.Errorf("since %v: %s", u.Since, diff)
		}
	})
}

// Each child gets a revision, whoever got it first; one that does not take it is seen to be behind.
func TestEveryChildGetsARevisionAndWhoIsBehindIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"kept": "1", "renamed": "1"}))
		defer w.stop()
		var all []*visitor
		for _, name := range []string{"one", "two", "three", "behind"} {
			v := w.visit(helloOf(name))
			defer v.leave()
			v.took(v.update())
			all = append(all, v)
		}
		w.hub.PublishUrgent(everything, catalogAt(2, rows{"kept": "1", "new": "1"}))
		for i, v := range all {
			u := v.update()
			if diff := cmp.Diff([]string{"-renamed", "new"}, names(u)); diff != "" {
				t.Errorf("child %d: %s", i, diff)
			}
			if i < 3 {
				v.took(u)
			}
		}
		got := map[string]uint64{}
		for _, s := range w.hub.Leaves() {
			got[s.Leaf] = s.Version.GetGeneration()
		}
		if diff := cmp.Diff(map[string]uint64{"one": 2, "two": 2, "three": 2, "behind": 1}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAChangedSubscriptionIsAnsweredAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		v := w.visit(&pb.Hello{Leaf: "l", Subscribe: &pb.Subscribe{View: 1}})
		defer v.leave()
		none := View{}
		w.hub.PublishUrgent(none, catalogAt(1, nil))
		u := v.update()
		if u.Empty != pb.EmptyReason_EMPTY_REASON_UNSUBSCRIBED {
			t.Errorf("empty because of %v", u.Empty)
		}
		// The ack of the old view crosses the answer to the new one, at the same version.
		v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Subscribe{Subscribe: &pb.Subscribe{View: 1, All: true}}})
		v.took(u)
		if u = v.update(); len(u.Upserts) != 1 || u.Since != nil {
			t.Errorf("sent %v, want the whole of the new view", u)
		}
		v.took(u)
		v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Subscribe{Subscribe: &pb.Subscribe{View: 1, All: true}}})
		if u = v.update(); u.Since != nil {
			t.Error("asked again, and not sent the whole")
		}
		v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Subscribe{Subscribe: &pb.Subscribe{View: 1, Drop: true}}})
		v.took(u)
		w.hub.PublishUrgent(everything, catalogAt(2, rows{"b": "1"}))
		if more := v.updates(); more != nil {
			t.Errorf("sent %v of a dropped view", more)
		}
	})
}

func TestRule7ANackIsFollowedBySilenceUntilThereIsOtherData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		v.refuse(v.update(), "no such strategy")
		for range 6 {
			w.hub.PublishUrgent(everything, catalogAt(1, rows{"a": "1"}))
			time.Sleep(9 * time.Second)
			v.alive()
		}
		if more := v.updates(); more != nil {
			t.Fatalf("%d updates after the nack", len(more))
		}
		up := w.passed().States
		if last := up[len(up)-1]; last.Nack != "no such strategy" || last.Nacked.GetGeneration() != 1 {
			t.Errorf("the parent was told %v", last)
		}
		w.hub.PublishUrgent(everything, catalogAt(2, rows{"a": "2"}))
		v.took(v.update())
		time.Sleep(2 * time.Second)
		if s := w.passed().States; len(s) != 1 || s[0].Nack != "" || s[0].Version.Generation != 2 {
			t.Errorf("the parent was told %v", s)
		}
	})
}

func TestRule3AChildAheadGetsTheFleetTrackOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(4, rows{"a": "1"}), fleetAt(1, 0, rows{"a": "open"}))
		defer w.stop()
		ahead := catalogAt(9, rows{"a": "9"})
		v := w.visit(helloOf("l", &pb.Held{Track: catalogTrack, View: 1, Version: ahead.Version(), Digest: ahead.Digest()}))
		defer v.leave()
		if u := v.update(); u.Track != fleetTrack {
			t.Errorf("sent %v", u)
		}
		if diff := cmp.Diff([]EventKind{Joined, Behind}, w.told()); diff != "" {
			t.Error(diff)
		}
		w.hub.PublishUrgent(everything, ahead)
		if u := v.update(); len(u.Upserts) != 0 {
			t.Errorf("sent %v once caught up with", u)
		}
	})
}

func TestAViewIsAskedForOnceAndDroppedAMinuteAfterItsLastChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		a, b := w.visit(helloOf("a")), w.visit(helloOf("b"))
		a.leave()
		b.leave()
		time.Sleep(50 * time.Second)
		c := w.visit(helloOf("c"))
		c.update()
		c.leave()
		time.Sleep(59 * time.Second)
		if told := w.asked(); len(told) != 1 {
			t.Errorf("the source was told %v", told)
		}
		time.Sleep(3 * time.Second)
		if diff := cmp.Diff([]string{"+" + everything.Key(), "-" + everything.Key()}, w.asked()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRule9EveryMessageCanBeDated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, fleetAt(1, 1, rows{"a": "1"}))
		defer w.stop()
		w.mu.Lock()
		w.heads = func() []*pb.HeadAge { return []*pb.HeadAge{{Track: fleetTrack, AgeUs: 77}} }
		w.mu.Unlock()
		time.Sleep(3 * time.Second)
		v := w.visit(helloOf("l"))
		defer v.leave()
		m := v.heard()[1]
		if m.Seen != 1 || m.HeldUs != 0 || m.GetUpdate().Ages[0].AgeUs != 3e6 {
			t.Errorf("seen %d held %d ages %v", m.Seen, m.HeldUs, m.GetUpdate().Ages)
		}
		time.Sleep(4 * time.Second)
		v.took(m.GetUpdate())
		time.Sleep(6 * time.Second)
		beat := v.heard()[0]
		if beat.Seen != 2 || beat.HeldUs != 6e6 || beat.GetHeartbeat().GetHeads()[0].AgeUs != 77 {
			t.Errorf("ten seconds later: %v", beat)
		}
	})
}

// Rule 9: nothing becomes fresh while this process is stopped, wherever that is.
func TestRule9AStopBetweenAnyTwoReadingsOfTheClockMakesNothingFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const row, permit = 40, int64(20e6)
		var clock atomic.Int64
		stopping := func() int64 { return clock.Add(1000) } // before each reading
		w := serve(t, func(c *Config) { c.Now = stopping }, fleetAt(1, row, rows{"a": "1"}))
		defer w.stop()
		w.mu.Lock()
		w.heads = func() []*pb.HeadAge { return []*pb.HeadAge{{Track: fleetTrack, AgeUs: stopping() - row}} }
		w.mu.Unlock()
		v := w.visit(helloOf("l"))
		defer v.leave()
		granted := stopping()
		w.hub.Grant(granted, &pb.Grant{Leaf: "l", What: &pb.Grant_Permit{Permit: &pb.Permit{UseByUs: permit}}})
		heard := v.heard()
		if len(heard) != 3 {
			t.Fatalf("heard %v, want a heartbeat, a state and a grant", heard)
		}
		sent := w.hub.named["leaf l"].seenAt // not later than that
		for _, m := range heard {
			dated := sent + m.HeldUs
			switch what := m.Message.(type) {
			case *pb.SyncResponse_Heartbeat:
				if at := dated - what.Heartbeat.Heads[0].AgeUs; at > row {
					t.Errorf("the head seems heard at %d, it was at %d", at, row)
				}
			case *pb.SyncResponse_Update:
				if at := dated - what.Update.Ages[0].AgeUs; at > row {
					t.Errorf("the row seems made at %d, it was at %d", at, row)
				}
			case *pb.SyncResponse_Grant:
				if until := dated + what.Grant.GetPermit().UseByUs; until > granted+permit {
					t.Errorf("the permit ends at %d, not at %d", until, granted+permit)
				}
			}
		}
	})
}

// People read who came and went: a replica is no leaf.
func TestAnEventSaysWhatKindOfChildItIsOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		relay := &pb.Hello{Library: "replica", Leaf: "cp-3", Relay: true, Subscribe: &pb.Subscribe{View: 1, All: true}}
		for _, c := range []struct {
			hello *pb.Hello
			want  string
		}{{helloOf("l"), "leaf"}, {relay, "replica"}, {&pb.Hello{Leaf: "old", Relay: true}, "relay"}} {
			v := w.visit(c.hello)
			v.leave()
			synctest.Wait()
			for len(w.events) > 0 {
				if e := <-w.events; e.Child != c.hello.Leaf || e.Sort != c.want {
					t.Errorf("%v of %q, a %q, want %q", e.Kind, e.Child, e.Sort, c.want)
				}
			}
		}
	})
}
