package controlplane

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// settle lets leaves report each second as they do while votes stand.
func settle(d time.Duration, votes []route.Vote, leaves ...*client) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		for _, l := range leaves {
			l.report(votes...)
		}
	}
	time.Sleep(time.Millisecond)
}

func stopAll(leaves ...*client) {
	for _, l := range leaves {
		l.stop()
	}
}

func TestFollowersChildrenConvergeOnTheLeadersWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 3)
		defer c.stop()
		leader := c.leads()
		one, two, far := leader.join("one"), c.others(leader)[0].join("two"), c.others(leader)[1].join("far")
		defer stopAll(one, two, far)
		settle(4*time.Second, nil, one, two, far)
		settle(2*time.Second, []route.Vote{trip}, one, two, far)
		for _, l := range []*client{one, two, far} {
			if w := l.word(t); w.State != route.FleetOpen || w.Round != 1 || !strings.Contains(w.Reason, "of 3 nodes") {
				t.Errorf("%s hears %+v", l.name, w)
			}
			if v := l.fleet(t).Version; v.Term != 101 || v != one.fleet(t).Version {
				t.Errorf("%s has version %v, the leader's child %v", l.name, v, one.fleet(t).Version)
			}
		}
	})
}

func TestATakeoverKeepsAnOpenBreakerOpenForTheTimeThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 3)
		defer c.stop()
		leader := c.leads()
		one, two := c.others(leader)[0].join("one"), c.others(leader)[1].join("two")
		defer stopAll(one, two)
		settle(4*time.Second, nil, one, two)
		settle(2*time.Second, []route.Vote{trip}, one, two)
		before := one.word(t)
		if before.State != route.FleetOpen {
			t.Fatalf("it did not open: %+v", before)
		}
		died := time.Now()
		leader.kill()
		next := c.leads(leader)
		if took := time.Since(died); took > 6*time.Second+1200*time.Millisecond {
			t.Errorf("taken over after %v", took)
		}
		settle(time.Second, []route.Vote{trip}, one, two)
		for _, l := range []*client{one, two} {
			after := l.word(t)
			if l.fleet(t).Version.Term != 102 || after.State != route.FleetOpen || after.Round != before.Round {
				t.Errorf("%s: term %d says %+v, want round %d open", l.name, l.fleet(t).Version.Term, after, before.Round)
			}
			if d := after.OpenUntil - before.OpenUntil; d < -1e6 || d > 1e6 {
				t.Errorf("%s: open until %d µs later than before", l.name, d)
			}
		}
		if e := next.origin.state().Evidence["a"]; len(e) != 1 {
			t.Errorf("the new leader gives no reason for it: %v", e)
		}
	})
}

// halfOpen brings endpoint a to where permits are handed out, and returns those that were.
func halfOpen(t *testing.T, leaves ...*client) (granted int) {
	t.Helper()
	settle(4*time.Second, nil, leaves...)
	settle(time.Second, []route.Vote{trip}, leaves...)
	settle(31*time.Second, nil, leaves...)
	for _, l := range leaves {
		granted += len(l.granted())
	}
	if w := leaves[0].word(t); w.State != route.FleetHalfOpen || granted == 0 {
		t.Fatalf("no permit was granted: %+v", w)
	}
	return granted
}

// Nobody knows what came of a permit when the leader dies: for as long as it may be used, its
// successor hands out none.
func TestPermitsOfAnOldLeaderAreNotDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 3)
		defer c.stop()
		leader := c.leads()
		one, two := c.others(leader)[0].join("one"), c.others(leader)[1].join("two")
		defer stopAll(one, two)
		before := halfOpen(t, one, two)
		leader.kill()
		c.leads(leader)
		counted := func() (n int) {
			for _, l := range []*client{one, two} {
				n += len(l.granted())
			}
			return n
		}
		settle(11*time.Second, nil, one, two)
		if n := counted(); n != before {
			t.Errorf("%d permits more within what the old ones and their news may take", n-before)
		}
		settle(8*time.Second, nil, one, two)
		if n := counted() - before; n < 1 || n > int(policy.Probes) {
			t.Errorf("%d permits after that, at most %d may be in flight", n, policy.Probes)
		}
		for _, g := range append(one.granted(), two.granted()...)[before:] {
			if g.GetTerm() == 102 && g.GetNumber() <= 102<<20 {
				t.Errorf("permit %d of term 102 may be one of an earlier term", g.GetNumber())
			}
		}
	})
}

// Row 51: a leader that was stopped, or cut off, comes back and believes that it leads.
func TestALeaderThatLosesItsTenureGrantsNothingAndKeepsItsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 2)
		defer c.stop()
		leader := c.leads()
		one, two := leader.join("one"), leader.join("two")
		defer stopAll(one, two)
		settle(4*time.Second, nil, one, two)
		settle(time.Second, []route.Vote{trip}, one, two)
		settle(29*time.Second, nil, one, two)
		since, told := one.link.Status().Since, one.fleet(t).Version
		c.alter(func() { c.cut[leader.name] = true })
		leader.lost.Store(true)
		settle(4*time.Second, nil, one, two) // the cooldown ends meanwhile
		if n := len(one.granted()) + len(two.granted()); n > 0 {
			t.Errorf("%d permits after the tenure was lost", n)
		}
		if v := one.fleet(t).Version; v != told {
			t.Errorf("said %v after the tenure was lost, last %v", v, told)
		}
		next := c.leads(leader)
		settle(20*time.Second, nil, one, two)
		if s := one.link.Status(); !s.Connected || s.Since != since {
			t.Errorf("its child was dropped: %+v", s)
		}
		if v := one.fleet(t).Version; v.Term != 102 {
			t.Errorf("its child hears %v, not what %s says", v, next.name)
		}
		if n := len(one.granted()) + len(two.granted()); n == 0 {
			t.Error("no permit came through it from the next leader")
		}
	})
}

func TestAGracefulStopHandsOverWithinASecondAlthoughEtcdTakesNoEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 3)
		defer c.stop()
		leader := c.leads()
		time.Sleep(2 * time.Second)
		c.alter(func() { c.stuck = true })
		leader.judge.events.put(&pb.FleetEvent{Kind: "opened"}, time.Now())
		time.Sleep(time.Millisecond)
		begun := time.Now()
		leader.resign()
		next := c.leads(leader)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %v until %s led", took, next.name)
		}
	})
}

// I8: whichever replica an interval comes through, it counts at most once.
func TestAReportThroughFollowersCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 3)
		defer c.stop()
		leader := c.leads()
		a, b := c.others(leader)[0], c.others(leader)[1]
		one, watch := a.join("one"), leader.join("watch")
		defer stopAll(one, watch)
		time.Sleep(time.Second)
		interval := func(l *client) {
			l.send(&route.Report{Sequence: 1, Rows: []route.Row{{Endpoint: "a", Identity: 7, Workload: "chat", Admitted: 8, Finished: 8}}})
			time.Sleep(3 * time.Second)
		}
		interval(one)
		interval(one)
		one.stop()
		moved := b.join("one")
		defer moved.stop()
		time.Sleep(time.Second)
		interval(moved)
		moved.send(&route.Report{Sequence: 2, Rows: []route.Row{{Endpoint: "a", Identity: 7, Workload: "chat", InFlight: 1}}})
		time.Sleep(3 * time.Second)
		f := watch.fleet(t)
		if len(f.Endpoints) != 1 || len(f.Endpoints[0].Loads) != 1 || f.Endpoints[0].Loads[0].Samples > 8 || f.Endpoints[0].Loads[0].Samples < 4 {
			t.Errorf("8 answers were counted as %+v", f.Endpoints)
		}
	})
}

// Rule 2: the fleet's states are ordered by term and sequence, whoever passes them on.
func TestALeafThatMovesBetweenReplicasNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 3)
		defer c.stop()
		leader := c.leads()
		a, b := c.others(leader)[0], c.others(leader)[1]
		one, other := a.join("one", b, leader), leader.join("other")
		defer stopAll(one, other)
		settle(6*time.Second, nil, one, other)
		a.kill()
		settle(10*time.Second, nil, one, other)
		b.kill()
		settle(20*time.Second, nil, one, other)
		one.mu.Lock()
		defer one.mu.Unlock()
		if len(one.fleets) < 10 {
			t.Fatalf("only %d states came", len(one.fleets))
		}
		for i, s := range one.fleets[1:] {
			before := one.fleets[i]
			order := wire.Compare(s.Track(), s.Version(), before.Version())
			if order < 0 || order == 0 && !bytes.Equal(s.Digest(), before.Digest()) {
				t.Errorf("after %v came %v", one.fleets[i].Version(), s.Version())
			}
		}
	})
}

// Rules 9 and 10: a replica that has lost the leader makes nothing fresh.
func TestAFollowerWithoutALeaderAgesWhatItServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 2)
		defer c.stop()
		leader := c.leads()
		follower := c.others(leader)[0]
		one := follower.join("one")
		defer one.stop()
		settle(5*time.Second, nil, one)
		c.alter(func() { c.cut[follower.name] = true }) // it will not lead either
		held := one.fleet(t)
		died := now()
		leader.kill()
		late := follower.join("late")
		defer late.stop()
		time.Sleep(50 * time.Second)
		for _, l := range []*client{one, late} {
			f := l.fleet(t)
			if f.Version != held.Version || len(f.Endpoints) != 1 || f.Endpoints[0].At > died {
				t.Errorf("%s holds %v with %+v, the leader last said %v and died at %d", l.name, f.Version, f.Endpoints, held.Version, died)
			}
			age := int64(-1)
			for _, h := range l.link.Status().Heads {
				if h.GetTrack() == pb.Track_TRACK_FLEET {
					age = h.GetAgeUs()
				}
			}
			if !l.link.Status().Connected || age < now()-died {
				t.Errorf("%s takes the fleet's origin for %d µs old, it died %d µs ago", l.name, age, now()-died)
			}
		}
	})
}

func TestAQuestionFindsALeafBehindAFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 2)
		defer c.stop()
		leader := c.leads()
		far := c.others(leader)[0].join("far")
		defer far.stop()
		time.Sleep(2 * time.Second)
		a, err := leader.hub.Ask(t.Context(), "far", &pb.Question{Explain: &pb.ExplainRequest{Workload: "chat"}})
		if err != nil || a.GetExplain().GetShed() != "asked of far" {
			t.Error(a, err)
		}
		if _, err := leader.hub.Ask(t.Context(), "nobody", &pb.Question{}); status.Code(err) != codes.NotFound {
			t.Error(err)
		}
	})
}

// Row 25: leadership that comes and goes leaves nothing behind.
func TestFiveHundredTermsLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 1)
		defer c.stop()
		s := c.leads()
		running := 0
		for i := range 500 {
			s.lost.Store(true)
			time.Sleep(3 * time.Second)
			c.leads()
			if i == 9 {
				running = runtime.NumGoroutine()
			}
		}
		if l, _ := c.look(); l.Term < 500 {
			t.Fatalf("only %d terms", l.Term)
		}
		if n := runtime.NumGoroutine(); n > running+5 { // some come and go
			t.Errorf("%d goroutines after 500 terms, %d after 10", n, running)
		}
	})
}

// Row 63: a replica that is cut off takes nothing away: what it told of ages, and is neutral.
func TestAReplicaThatIsCutOffTakesNoEndpointAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 2)
		defer c.stop()
		leader := c.leads()
		a := c.others(leader)[0]
		watch, one := leader.join("watch"), a.join("one")
		defer stopAll(watch, one)
		settle(5*time.Second, nil, one)
		a.kill()
		time.Sleep(2 * time.Second)
		if f := watch.fleet(t); len(f.Endpoints) != 1 || len(f.Endpoints[0].Breakers) != 0 || f.Endpoints[0].Loads[0].InFlight != 1 {
			t.Errorf("right after: %+v", f.Endpoints)
		}
		time.Sleep(2 * time.Minute)
		for _, e := range watch.fleet(t).Endpoints {
			if len(e.Breakers) > 0 || len(e.Loads) > 0 && e.Loads[0].InFlight > 0 {
				t.Errorf("long after: %+v", e)
			}
		}
		watch.mu.Lock()
		defer watch.mu.Unlock()
		if _, ok := watch.catalog.Lookup(wire.Key{Kind: pb.Kind_KIND_ENDPOINT, Name: "a"}); !ok {
			t.Error("the endpoint is no more")
		}
	})
}

// Two replicas that each take the other for the leader would pass reports in a circle.
func TestAReplicaThatDoesNotLeadTakesNoReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 2)
		defer c.stop()
		leader := c.leads()
		hello := &pb.Hello{Relay: true, Subscribe: &pb.Subscribe{All: true, FleetOnly: true}}
		if err := leader.awaitsLeading(t.Context(), hello); err != nil {
			t.Error(err)
		}
		begun := time.Now()
		if err := c.others(leader)[0].awaitsLeading(t.Context(), hello); status.Code(err) != codes.Unavailable || time.Since(begun) > leadWithin {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if err := c.others(leader)[0].awaitsLeading(t.Context(), &pb.Hello{Relay: true, Subscribe: &pb.Subscribe{All: true}}); err != nil {
			t.Errorf("an agent: %v", err)
		}
	})
}

// Votes are told again each second: a new leader needs nothing of the old one to count them.
func TestANewLeaderCountsTheVotesThatStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 3)
		defer c.stop()
		leader := c.leads()
		one, two := c.others(leader)[0].join("one"), c.others(leader)[1].join("two")
		defer stopAll(one, two)
		settle(time.Second, nil, one, two)
		leader.kill() // before it has judged anything
		settle(6*time.Second, []route.Vote{trip}, one, two)
		c.leads(leader)
		settle(4*time.Second, []route.Vote{trip}, one, two)
		for _, l := range []*client{one, two} {
			if w := l.word(t); w.State != route.FleetOpen || !strings.Contains(w.Reason, "2 of 2 nodes") {
				t.Errorf("%s hears %+v", l.name, w)
			}
		}
	})
}

// A replica that a leaf has left does not speak for it when it comes to a leader anew.
func TestALeafIsFoundWhereItIsNotWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 3)
		defer c.stop()
		leader := c.leads()
		a, b := c.others(leader)[0], c.others(leader)[1]
		one := a.join("one", b)
		defer one.stop()
		time.Sleep(3 * time.Second)
		a.hub.Goodbye("the stream is old")
		time.Sleep(10 * time.Second)
		a.hub.Resend() // as on a new stream to the leader
		time.Sleep(3 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		answer, err := leader.hub.Ask(ctx, "one", &pb.Question{Explain: &pb.ExplainRequest{Workload: "chat"}})
		if err != nil || answer.GetExplain().GetShed() != "asked of one" {
			t.Error(answer, err)
		}
	})
}

func TestNobodyLeadsFromTheMomentThatATenureEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 2)
		defer c.stop()
		led := c.leads()
		other := c.others(led)[0]
		names := func(s *seat) string { synctest.Wait(); return s.origin.state().Leader.GetReplica() }
		if names(led) != led.name || names(other) != led.name {
			t.Errorf("%s leads, it names %q, the other %q", led.name, names(led), names(other))
		}
		for _, s := range c.seats {
			s.origin.confirm(time.Now(), errors.New("etcd is away"))
		}
		if names(led) != led.name || names(other) != "" {
			t.Errorf("without etcd the leader names %q, the other %q", names(led), names(other))
		}
		for _, s := range c.seats {
			s.origin.confirm(time.Now(), nil)
			c.alter(func() { c.cut[s.name] = true })
		}
		led.resign()
		if got := names(led); got != "" {
			t.Errorf("%q leads by the key of a tenure that ended", got)
		}
		time.Sleep(leaseFor + time.Millisecond)
		if names(led) != "" || names(other) != "" {
			t.Errorf("with the key gone %q and %q lead", names(led), names(other))
		}
	})
}
