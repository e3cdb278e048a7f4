package controlplane

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// startReplicas starts replicas on one etcd, with one token.
func startReplicas(t *testing.T, n int) (out []*replica) {
	t.Helper()
	e := startEtcd(t)
	token := filepath.Join(t.TempDir(), "token")
	for range n {
		out = append(out, start(t, Config{EtcdEndpoints: []string{e.address()}, Peer: Peer{LocalToken: token}}))
	}
	return out
}

// leaderOfAll waits until one leads and all of them say so.
func leaderOfAll(t *testing.T, all []*replica) (leader *replica) {
	t.Helper()
	eventually(t, func() bool {
		leader = nil
		for _, r := range all {
			if r.origin.state().Leads {
				leader = r
			}
		}
		return leader != nil && !slices.ContainsFunc(all, func(r *replica) bool {
			return r.origin.state().Leader.GetReplica() != leader.self.Replica
		})
	})
	return leader
}

func without(all []*replica, one *replica) []*replica {
	return slices.DeleteFunc(slices.Clone(all), func(r *replica) bool { return r == one })
}

func TestOfThreeReplicasOneJudgesAndAnotherGoesOnWhenItStops(t *testing.T) {
	all := startReplicas(t, 3)
	leader := leaderOfAll(t, all)
	followers := without(all, leader)
	eventually(t, func() bool {
		_, err := followers[0].catalog.Publish(t.Context(), &pb.PublishRequest{Sources: catalogOf("eu"), AnyBase: true})
		return err == nil
	})
	one, two := connect(t, followers[0], "one"), connect(t, followers[1], "two")
	c, _, err := wire.Catalog(one.untilGeneration(t, 1), false)
	if err != nil {
		t.Fatal(err)
	}
	two.untilGeneration(t, 1)
	open := func(term uint64) func(*wire.State) bool {
		return func(s *wire.State) bool {
			f, err := wire.Fleet(s)
			return err == nil && s.Version().GetTerm() > term && len(f.Endpoints) > 0 && len(f.Endpoints[0].Breakers) > 0 &&
				f.Endpoints[0].Breakers[0].State == route.FleetOpen
		}
	}
	for sequence, l := range []*leaf{one, two, one, two} {
		report := wire.EncodeReport(l.now(), &route.Report{
			Leaf: []string{"one", "two"}[sequence%2], Incarnation: 1, Sequence: uint64(sequence + 1), At: l.now(), Interval: 1e6,
			Rows:  []route.Row{{Endpoint: "a", Identity: c.Endpoints[0].Identity, Workload: "chat", AdmitFailed: 5}},
			Votes: []route.Vote{{Endpoint: "a", Identity: c.Endpoints[0].Identity, Reason: "5 in a row failed"}},
		})
		l.until(t, pb.Track_TRACK_FLEET, func(s *wire.State) bool { return s.Version().GetTerm() > 0 })
		l.link.Report(l.now(), &pb.Report{Leaves: []*pb.LeafReport{report}})
	}
	term := one.until(t, pb.Track_TRACK_FLEET, open(0)).Version().GetTerm()
	two.until(t, pb.Track_TRACK_FLEET, open(0))

	eventually(t, func() bool { // a follower asks the leader, who knows all
		s, err := followers[1].fleet.Status(t.Context(), &pb.StatusRequest{})
		return err == nil && s.GetLeaves() == 2 && len(s.GetOpen()) == 1 && s.GetLeader().GetReplica() == leader.self.Replica
	})
	begun := time.Now()
	if err := leader.stop(); err != nil {
		t.Fatal(err)
	}
	next := leaderOfAll(t, followers)
	if took := time.Since(begun); took > 4*time.Second { // a lease that nobody gives back takes 5
		t.Errorf("it took %v until another led", took)
	}
	for _, l := range []*leaf{one, two} {
		l.until(t, pb.Track_TRACK_FLEET, open(term))
	}
	eventually(t, func() bool {
		events, err := next.store.Events(t.Context(), DefaultNamespace, store.EventQuery{})
		opened, leaders := 0, 0
		for _, e := range events {
			switch e.GetKind() {
			case "opened":
				opened++
			case eventLeader:
				leaders++
			}
		}
		return err == nil && opened == 1 && leaders == 2
	})
}

func TestAReplicaWhoseTokenIsNotTheLeadersFollowsNobody(t *testing.T) {
	e := startEtcd(t)
	dir := t.TempDir()
	one := start(t, Config{EtcdEndpoints: []string{e.address()}, Peer: Peer{LocalToken: filepath.Join(dir, "one")}})
	leaderOfAll(t, []*replica{one})
	two := start(t, Config{EtcdEndpoints: []string{e.address()}, Peer: Peer{LocalToken: filepath.Join(dir, "two")}})
	one.publish(t, 0, "eu")
	eventually(two.serves(t, 1))
	time.Sleep(time.Second)
	if s := two.origin.state(); s.Fleet != nil {
		t.Errorf("it serves what %v says", s.Leader)
	}
}

func TestOneReplicaAloneLeadsAndJudgesAtOnce(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second time beside the key that the first one gave back
		begun := time.Now()
		r := start(t, Config{DataDir: dir})
		eventually(t, func() bool { return r.origin.state().Leads })
		t.Logf("led after %v", time.Since(begun))
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("it took %v to lead", took)
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
}
