package hub

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestReportsAreStampedAndPassedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		relay := w.visit(&pb.Hello{Leaf: "other node", Node: "other node", Relay: true})
		defer relay.leave()
		time.Sleep(2 * time.Second)
		w.passed()
		v.report(&pb.Report{Leaves: []*pb.LeafReport{calm("l", 5), calm("not l", 1)}})
		relay.report(&pb.Report{
			Leaves: []*pb.LeafReport{{Leaf: "far", Node: "its node", Incarnation: 3, Sequence: 8, AgeUs: 1000, Votes: []*pb.Vote{{Endpoint: "e"}}}},
			States: []*pb.LeafState{{Leaf: "far", Node: "its node", Incarnation: 3, AgeUs: 500}},
		})
		time.Sleep(99 * time.Millisecond)
		got := w.passed()
		want := &pb.Report{
			Leaves: []*pb.LeafReport{
				{Leaf: "l", Node: "node", Sequence: 5, Rows: calm("l", 5).Rows},
				{Leaf: "far", Node: "its node", Incarnation: 3, Sequence: 8, AgeUs: 1000, Votes: []*pb.Vote{{Endpoint: "e"}}},
			},
			States: []*pb.LeafState{{Leaf: "far", Node: "its node", Incarnation: 3}},
		}
		ages := protocmp.IgnoreFields(&pb.LeafState{}, "age_us")
		report := protocmp.IgnoreFields(&pb.LeafReport{}, "age_us")
		if diff := cmp.Diff(want, got, protocmp.Transform(), ages, report); diff != "" {
			t.Error(diff)
		}
		if age := got.Leaves[1].AgeUs; age < 1000 || age > 101_000 {
			t.Errorf("the relayed report is %d µs old, want 1,000 and the wait here", age)
		}
	})
}

func TestLeavesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(3, rows{"a": "1"}))
		defer w.stop()
		v := w.visit(helloOf("l"))
		v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Ack{Ack: &pb.Ack{
			Held: []*pb.Held{heldOf(v.update())}, Unusable: []*pb.Unusable{{Workload: "chat", Reason: "strategy"}},
		}}})
		time.Sleep(2 * time.Second)
		up := w.passed().States
		want := &pb.LeafState{
			Leaf: "l", Node: "node", Library: "go", Incarnation: 1, Version: catalogAt(3, nil).Version(),
			Unusable: []*pb.Unusable{{Workload: "chat", Reason: "strategy"}},
		}
		ages := protocmp.IgnoreFields(&pb.LeafState{}, "age_us")
		if diff := cmp.Diff(want, up[len(up)-1], protocmp.Transform(), ages); diff != "" {
			t.Error(diff)
		}
		w.hub.Resend()
		time.Sleep(2 * time.Second)
		if again := w.passed().States; len(again) != 1 {
			t.Errorf("a new parent was told %v", again)
		}
		v.leave()
		time.Sleep(100 * time.Millisecond)
		if gone := w.passed().States; len(gone) != 1 || !gone[0].Gone {
			t.Errorf("after its end the parent was told %v", gone)
		}
		if left := w.hub.Leaves(); len(left) != 0 {
			t.Errorf("still known: %v", left)
		}
	})
}

func TestGrantsGoToWhoSpeaksForTheLeafAndAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		defer w.stop()
		relay := w.visit(&pb.Hello{Leaf: "agent", Relay: true})
		defer relay.leave()
		relay.report(&pb.Report{States: []*pb.LeafState{{Leaf: "far", Incarnation: 1}}})
		relay.heard()
		if !w.hub.Grant(&pb.Grant{Leaf: "far", Number: 1}) || w.hub.Grant(&pb.Grant{Leaf: "unknown"}) {
			t.Error("routed wrongly")
		}
		if got := relay.heard(); len(got) != 1 || got[0].GetGrant().GetLeaf() != "far" {
			t.Errorf("the relay got %v", got)
		}
		c := w.hub.named["agent"]
		w.hub.mu.Lock()
		c.grants = make([]waitingGrant, maxGrants)
		w.hub.mu.Unlock()
		if w.hub.Grant(&pb.Grant{Leaf: "far"}) {
			t.Error("one more than the bound was taken")
		}
	})
}
