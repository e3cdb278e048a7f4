package hub

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// relayOf is the hello of an agent that wants all.
func relayOf(node string) *pb.Hello {
	return &pb.Hello{Leaf: node, Node: node, Relay: true, Subscribe: &pb.Subscribe{View: 1, All: true}}
}

func TestReportsAreStampedAndPassedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"e": "1"}))
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		relay := w.visit(relayOf("other node"))
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
			States: []*pb.LeafState{{Leaf: "far", Node: "its node", Incarnation: 3, Via: "other node"}},
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

// Rule 9: a report that was frozen on its way, or in a stopped relay, is old evidence.
func TestRule9AFrozenReportIsOldEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		time.Sleep(2 * time.Second)
		w.passed()
		first := v.seen.Load() // what the child had seen, when it sent what comes late
		time.Sleep(25 * time.Second)
		v.sayAsIs(&pb.SyncRequest{Seen: first, HeldUs: 2_000_000, Message: &pb.SyncRequest_Report{
			Report: &pb.Report{Leaves: []*pb.LeafReport{failing("l", 1)}},
		}})
		time.Sleep(99 * time.Millisecond)
		got := w.passed().GetLeaves()
		if len(got) != 1 || got[0].AgeUs < 24_900_000 {
			t.Errorf("passed up %v, want one of at least 24.9 s", got)
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
		if !w.hub.Grant(w.now(), &pb.Grant{Leaf: "far", Number: 1}) || w.hub.Grant(w.now(), &pb.Grant{Leaf: "unknown"}) {
			t.Error("routed wrongly")
		}
		if got := relay.heard(); len(got) != 1 || got[0].GetGrant().GetLeaf() != "far" {
			t.Errorf("the relay got %v", got)
		}
		c := w.hub.named[`relay "" "agent"`]
		w.hub.mu.Lock()
		c.grants = make([]waitingGrant, maxGrants)
		w.hub.mu.Unlock()
		if w.hub.Grant(w.now(), &pb.Grant{Leaf: "far"}) {
			t.Error("one more than the bound was taken")
		}
	})
}

// Rule 9: what is older than can be said does not come out young.
func TestRule9AnAgeBeyondAnyStaysOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		defer w.stop()
		relay := w.visit(&pb.Hello{Leaf: "agent", Relay: true})
		defer relay.leave()
		relay.report(&pb.Report{
			Leaves: []*pb.LeafReport{{Leaf: "far", Sequence: 1, AgeUs: math.MaxInt64}},
			States: []*pb.LeafState{{Leaf: "far", AgeUs: math.MaxInt64}},
		})
		time.Sleep(2 * time.Second)
		got := w.passed()
		if age := min(got.Leaves[0].AgeUs, got.States[0].AgeUs); age < 1<<60 {
			t.Errorf("passed up as %d µs old", age)
		}
		if age := w.hub.Leaves()[0].AgeUs; age < 1<<60 {
			t.Errorf("known as heard %d µs ago", age)
		}
	})
}

// A leaf that is connected here speaks for itself, whatever a relay says of it.
func TestNoRelaySpeaksForALeafThatIsConnectedHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		defer w.stop()
		relay := w.visit(&pb.Hello{Leaf: "agent", Relay: true})
		defer relay.leave()
		lie := &pb.Report{
			Leaves: []*pb.LeafReport{{Leaf: "l", Incarnation: 99, Sequence: 7}},
			States: []*pb.LeafState{{Leaf: "l", Incarnation: 99, Node: "elsewhere"}},
		}
		relay.report(lie) // before it comes
		v := w.visit(helloOf("l"))
		time.Sleep(2 * time.Second)
		w.passed()
		relay.report(lie) // and while it is here
		relay.report(&pb.Report{States: []*pb.LeafState{{Leaf: "l", Incarnation: 100, Gone: true}}})
		time.Sleep(2 * time.Second)
		if got := w.passed(); len(got.Leaves)+len(got.States) != 0 {
			t.Errorf("passed up %v", got)
		}
		if known := w.hub.Leaves(); len(known) != 1 || known[0].Node != "node" || known[0].Incarnation != 1 {
			t.Errorf("known: %v", known)
		}
		v.heard()
		if w.hub.Grant(w.now(), &pb.Grant{Leaf: "l", Number: 3}); v.heard()[0].GetGrant().GetNumber() != 3 {
			t.Error("its grant went elsewhere")
		}
		v.leave()
		time.Sleep(2 * time.Second)
		w.passed()
		relay.report(&pb.Report{States: []*pb.LeafState{{Leaf: "l", Incarnation: 1}}}) // it moved there
		time.Sleep(2 * time.Second)
		if got := w.passed().States; len(got) != 1 {
			t.Errorf("after it moved: %v", got)
		}
	})
}

// What is kept of a leaf, and passed on, has a bound; the rest is told of once a second.
func TestWhatOneChildSaysIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		u := v.update()
		many := make([]*pb.Unusable, 100)
		for i := range many {
			many[i] = &pb.Unusable{Workload: "chat", Reason: strings.Repeat("é", maxReason)}
		}
		v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Ack{Ack: &pb.Ack{Held: []*pb.Held{heldOf(u)}, Unusable: many}}})
		for n := range uint64(1000) {
			v.report(&pb.Report{Leaves: []*pb.LeafReport{calm(strings.Repeat("x", 300), n), calm("other", n)}})
		}
		v.report(&pb.Report{Leaves: []*pb.LeafReport{{Leaf: "l", Node: strings.Repeat("x", 300)}, {Leaf: "l", Locality: strings.Repeat("x", maxReport)}}})
		time.Sleep(2 * time.Second)
		got := w.passed()
		if len(got.Leaves) != 0 {
			t.Errorf("%d reports were passed up", len(got.Leaves))
		}
		for _, s := range got.States {
			if size := proto.Size(s); size > 100*(maxReason+20) {
				t.Errorf("a leaf's state has %d bytes", size)
			}
		}
		if told := w.told(); len(told) > 3 {
			t.Errorf("told %v", told)
		}
	})
}

func TestRecordsGoToWhoKeepsThemAndNoFurther(t *testing.T) {
	records := &pb.Records{Records: []*pb.Record{{Leaf: "whoever it says"}}}
	for name, keeps := range map[string]bool{"an agent": true, "a replica": false} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			w := serve(t, func(c *Config) {
				if keeps {
					c.Records = func(leaf string, r *pb.Records) { got = append(got, leaf, r.Records[0].Leaf) }
				}
			})
			defer w.stop()
			v := w.visit(helloOf("l"))
			defer v.leave()
			time.Sleep(2 * time.Second)
			if m := v.heard()[0]; m.GetHeartbeat() == nil || m.GetHeartbeat().KeepsRecords != keeps {
				t.Errorf("%s: the first message is %v", name, m)
			}
			w.passed()
			v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Records{Records: records}})
			time.Sleep(5 * time.Second)
			if want := map[bool]int{true: 2, false: 0}[keeps]; len(got) != want || want > 0 && got[0] != "l" {
				t.Errorf("%s: kept %q", name, got)
			}
			if up := w.passed(); len(up.Leaves)+len(up.States) > 0 {
				t.Errorf("%s: passed up %v", name, up)
			}
			v.alive()
		})
	}
}
