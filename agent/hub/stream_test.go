package hub

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestRule7StuckChildrenAreEndedAndHarmNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := func(g uint64) rows { return rows{"a": strings.Repeat(fmt.Sprint(g%10), 300_000)} }
		w := serve(t, nil, catalogAt(1, big(1)))
		defer w.stop()
		stuck := w.connect(false)
		defer stuck.leave()
		stuck.say(&pb.SyncRequest{Message: &pb.SyncRequest_Hello{Hello: helloOf("stuck")}})
		mute := w.visit(helloOf("mute"))
		defer mute.leave()
		good := w.visit(helloOf("good"))
		defer good.leave()
		good.took(good.update())
		for g := uint64(2); g < 8; g++ {
			w.hub.PublishUrgent(everything, catalogAt(g, big(g)))
			good.took(good.update())
			time.Sleep(time.Second)
		}
		time.Sleep(5500 * time.Millisecond)
		if got := status.Code(mute.ended()); got != codes.DeadlineExceeded {
			t.Errorf("the mute child ended with %v", got)
		}
		if len(w.hub.children) != 1 {
			t.Errorf("%d children, want the good one", len(w.hub.children))
		}
		for _, s := range w.passed().States {
			if s.Gone {
				t.Errorf("%q was called gone; it may live", s.Leaf)
			}
		}
		w.hub.PublishUrgent(everything, catalogAt(9, rows{"a": "9"}))
		good.update()
	})
}

func TestRule10ASilentChildIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		time.Sleep(29 * time.Second)
		v.alive()
		time.Sleep(29 * time.Second)
		v.alive()
		time.Sleep(32 * time.Second)
		if got := status.Code(v.ended()); got != codes.DeadlineExceeded {
			t.Errorf("ended with %v", got)
		}
	})
}

func TestHelloComesFirstSoonAndOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		say  []*pb.SyncRequest
		want codes.Code
	}{
		{"none", nil, codes.DeadlineExceeded},
		{"something else first", []*pb.SyncRequest{{Message: &pb.SyncRequest_Ack{Ack: &pb.Ack{}}}}, codes.InvalidArgument},
		{"no name", []*pb.SyncRequest{{Message: &pb.SyncRequest_Hello{Hello: &pb.Hello{}}}}, codes.InvalidArgument},
		{"a name that nobody would give", []*pb.SyncRequest{
			{Message: &pb.SyncRequest_Hello{Hello: helloOf(strings.Repeat("l", maxName+1))}},
		}, codes.InvalidArgument},
		{"more states than there are views", []*pb.SyncRequest{
			{Message: &pb.SyncRequest_Hello{Hello: helloOf("l", make([]*pb.Held, maxHeld+1)...)}},
		}, codes.InvalidArgument},
		{"a view of too many names", []*pb.SyncRequest{
			{Message: &pb.SyncRequest_Hello{Hello: helloOf("l")}},
			{Message: &pb.SyncRequest_Subscribe{Subscribe: &pb.Subscribe{View: 2, Workloads: []string{strings.Repeat("w", maxSubscribe)}}}},
		}, codes.InvalidArgument},
		{"twice", []*pb.SyncRequest{
			{Message: &pb.SyncRequest_Hello{Hello: helloOf("l")}}, {Message: &pb.SyncRequest_Hello{Hello: helloOf("l")}},
		}, codes.InvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := serve(t, nil)
				defer w.stop()
				v := w.connect(true)
				defer v.leave()
				for _, m := range c.say {
					v.say(m)
				}
				time.Sleep(5 * time.Second)
				if got := status.Code(v.ended()); got != c.want {
					t.Errorf("ended with %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestTurnedAwayStreamsLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, func(c *Config) {
			c.Bounds.PerHost = 2
			c.Authorize = func(_ context.Context, m *pb.Hello) (Guest, error) {
				if m.Leaf == "stranger" {
					return Guest{}, status.Error(codes.Unauthenticated, "who?")
				}
				return Guest{Identity: m.Leaf + "'s identity"}, nil
			}
		})
		defer w.stop()
		for range 100 {
			v := w.visit(helloOf("stranger"))
			if got := status.Code(v.ended()); got != codes.Unauthenticated {
				t.Fatalf("ended with %v", got)
			}
			v.leave()
			time.Sleep(10 * time.Millisecond)
		}
		a, b, full := w.visit(helloOf("a")), w.visit(helloOf("b")), w.visit(helloOf("c"))
		defer a.leave()
		defer b.leave()
		defer full.leave()
		if got := status.Code(full.ended()); got != codes.ResourceExhausted {
			t.Errorf("the third of two ended with %v", got)
		}
		if len(w.hub.children) != 2 || len(w.hub.roster.leaves) != 2 || len(w.hub.door.hosts) != 1 || len(w.hub.door.named) != 2 {
			t.Errorf("%d children, %d leaves, doors %v %v", len(w.hub.children), len(w.hub.roster.leaves), w.hub.door.hosts, w.hub.door.named)
		}
	})
}

func TestANewerStreamOfALeafTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		old := w.visit(helloOf("l"))
		defer old.leave()
		v := w.visit(helloOf("l"))
		defer v.leave()
		if got := status.Code(old.ended()); got != codes.Aborted {
			t.Errorf("the old stream ended with %v", got)
		}
		v.took(v.update())
		if all := w.hub.Leaves(); len(all) != 1 || all[0].Gone {
			t.Errorf("leaves: %v", all)
		}
		v.heard()
		if !w.hub.Grant(w.now(), &pb.Grant{Leaf: "l", Number: 7}) || v.heard()[0].GetGrant().GetNumber() != 7 {
			t.Error("the grant did not reach the new stream")
		}
	})
}

func TestRule12GoodbyeIsSaidAndNewStreamsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		v.heard()
		w.hub.Goodbye("maintenance")
		if got := v.heard(); len(got) != 1 || got[0].GetGoodbye().GetReason() != "maintenance" || got[0].GetGoodbye().GetAfterUs() != us(comeSoon) {
			t.Errorf("heard %v", got)
		}
		_ = v.ended()
		late := w.visit(helloOf("m"))
		defer late.leave()
		if got := status.Code(late.ended()); got != codes.Unavailable {
			t.Errorf("a late one ended with %v", got)
		}
		for _, s := range w.passed().States {
			if s.Gone {
				t.Error("a leaf that was sent away was called gone")
			}
		}
	})
}

func TestRule12AnOldStreamIsMovedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, func(c *Config) { c.Age = time.Minute })
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		begun, moved := time.Now(), false
		for !moved && time.Since(begun) < mostAges*time.Minute+10*time.Second {
			time.Sleep(time.Second)
			for _, m := range v.heard() {
				moved = moved || m.GetGoodbye() != nil
			}
			if !moved {
				v.alive()
			}
		}
		if age := time.Since(begun); !moved || age < 54*time.Second {
			t.Errorf("moved on %v, after %v", moved, age)
		}
	})
}

// Rule 12: after a rolling restart all children may be at one of two parents. As their streams
// grow old they part, and stay parted: they do not all move to the other one.
func TestRule12ChildrenThatAreAllAtOneParentPart(t *testing.T) {
	const children, age = 2000, int64(DefaultAge / time.Microsecond)
	h := New(Config{Now: func() int64 { return 1 }})
	at, until := make([]int, children), make([]int64, children)
	for i := range until {
		until[i] = h.lifetime(0)
	}
	for now := int64(1); now < 6; now++ {
		count := 0
		for i := range at {
			for until[i] < now*age+age/2 {
				at[i], until[i] = 1-at[i], h.lifetime(until[i])
			}
			count += at[i]
		}
		if count < children*4/10 || count > children*6/10 {
			t.Errorf("after %d ages the one has %d of %d children", now, count, children)
		}
	}
}

// What children said last is not lost with an agent that is stopped: who has gone is told.
func TestAHubThatStopsPassesUpWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"e": "1"}))
		v := w.visit(helloOf("l"))
		time.Sleep(2 * time.Second)
		w.passed()
		v.report(&pb.Report{Leaves: []*pb.LeafReport{calm("l", 1)}})
		v.leave()
		w.stop()
		up := w.passed()
		if len(up.States) != 1 || !up.States[0].Gone || len(up.Leaves) != 1 {
			t.Errorf("passed up %v", up)
		}
	})
}

// Rule 9: after a suspend nothing that comes up an old stream can be dated.
func TestRule9ASuspendEndsTheStreamsAndAgesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		w := serve(t, func(c *Config) {
			c.Wall = func() int64 { return time.Now().UnixMicro() + ahead.Load() }
		}, catalogAt(1, rows{"e": "1"}))
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		time.Sleep(1900 * time.Millisecond)
		w.passed()
		v.report(&pb.Report{Leaves: []*pb.LeafReport{calm("l", 1)}}) // waits for a second
		ahead.Store(60e6)
		time.Sleep(200 * time.Millisecond)
		if got := status.Code(v.ended()); got != codes.Unavailable {
			t.Errorf("ended with %v", got)
		}
		time.Sleep(2 * time.Second)
		up := w.passed()
		if len(up.Leaves) != 1 || up.Leaves[0].AgeUs < 60e6 {
			t.Errorf("passed up %v", up.Leaves)
		}
		for _, s := range up.States {
			if s.Gone {
				t.Errorf("%q was called gone", s.Leaf)
			}
		}
		back := w.visit(helloOf("l"))
		defer back.leave()
		time.Sleep(5 * time.Second)
		if len(w.hub.children) != 1 {
			t.Error("the new stream was ended too")
		}
	})
}

// Rule 7: one that refuses all it is sent holds up nobody, and is sent each state once.
func TestRule7OneThatRefusesEverythingHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		bad, good := w.visit(helloOf("bad")), w.visit(helloOf("good"))
		defer bad.leave()
		defer good.leave()
		for g := uint64(2); g < 12; g++ {
			bad.refuse(bad.update(), "no")
			good.took(good.update())
			w.hub.PublishUrgent(everything, catalogAt(g, rows{"a": fmt.Sprint(g)}))
		}
		if u := good.update(); u.Version.Generation != 11 || len(u.Upserts) != 1 {
			t.Errorf("the good one was sent %v", u)
		}
	})
}
