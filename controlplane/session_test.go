package controlplane

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestWitnessesAreOfEndpointsThatExist(t *testing.T) {
	w := witnesses{}
	w.only([]route.Endpoint{{Name: "a", Identity: 1}, {Name: "b", Identity: 2}})
	for i := range 1000 {
		w.saw(&route.Report{Node: fmt.Sprint("made up ", i), At: 5, Rows: []route.Row{
			{Endpoint: fmt.Sprint("e", i), Identity: 1}, {Endpoint: "a", Identity: 7},
		}})
	}
	w.saw(&route.Report{Node: "n1", At: 5, Rows: []route.Row{{Endpoint: "a", Identity: 1}, {Endpoint: "b", Identity: 2}}})
	w.saw(&route.Report{Node: "n2", At: 9, Rows: []route.Row{{Endpoint: "a", Identity: 1}}})
	if diff := cmp.Diff(map[string]uint64{"a": 2, "b": 1}, w.count()); diff != "" || len(w) != 2 {
		t.Errorf("%d endpoints, %s", len(w), diff)
	}
	w.only([]route.Endpoint{{Name: "a", Identity: 1}, {Name: "b", Identity: 3}})
	w.forget(witnessFor + 6)
	if diff := cmp.Diff(map[string]uint64{"a": 1}, w.count()); diff != "" {
		t.Errorf("after the silence of one node, and b pointed elsewhere: %s", diff)
	}
}

// From what leaves report to what they read: while attempts fail a workload has a row, and
// none before and after.
func TestAWorkloadThatFailsIsToldToRetryLess(t *testing.T) {
	now := int64(1e6)
	j := &judge{now: func() int64 { return now }, origin: newOrigin(), log: hclog.NewNullLogger()}
	s := newSession(j, 1)
	s.apply(&route.Catalog{
		Endpoints: []route.Endpoint{{Name: "a", Identity: 1, Breaker: breaker.Policy{Window: 5e6, SlowWindow: 60e6, MinSamples: 20, FailureRatio: 1, Cooldown: 5e6, Probes: 3}}},
		Workloads: []route.Workload{{Name: "chat", Tiers: []route.Tier{{Endpoints: []string{"a"}}}}},
	})
	for i, want := range []float64{1, 0.5, 1} {
		now += 10e6
		row := &pb.Row{Endpoint: "a", Identity: 1, Class: pb.Class_CLASS_ANY, Workload: "chat", Admitted: 80, Finished: 80}
		if want < 1 {
			row.AdmitFailed = 20
		}
		s.observe(arrival{&pb.Report{Leaves: []*pb.LeafReport{{Leaf: "l", Sequence: uint64(i + 1), Rows: []*pb.Row{row}}}}, now})
		s.settle(now)
		told, err := wire.Fleet(j.origin.state().Fleet)
		if err != nil {
			t.Fatal(err)
		}
		var rows []route.FleetWorkload
		if want < 1 {
			rows = []route.FleetWorkload{{Name: "chat", At: now, RetryFactor: want}}
		}
		if diff := cmp.Diff(rows, told.Workloads); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
}

// A row costs its encoding once a state, however many reports change it.
func TestRowsAreEncodedWhenTheyAreTold(t *testing.T) {
	now := int64(1e6)
	j := &judge{now: func() int64 { return now }, origin: newOrigin(), log: hclog.NewNullLogger()}
	s := newSession(j, 1)
	s.apply(&route.Catalog{Endpoints: []route.Endpoint{{Name: "a", Identity: 1, Breaker: breaker.Policy{Window: 10e6, SlowWindow: 60e6, MinSamples: 20, FailureRatio: 0.5, Cooldown: 5e6, Probes: 3}}}})
	s.settle(now)
	due := now + fleetPace
	for n := range uint64(40) {
		now += 1000
		row := &pb.Row{Endpoint: "a", Identity: 1, Class: pb.Class_CLASS_ANY, Admitted: 1, InFlight: n + 1}
		s.observe(arrival{&pb.Report{Leaves: []*pb.LeafReport{{Leaf: "l", Sequence: n + 1, Rows: []*pb.Row{row}}}}, now})
		if next := s.settle(now); next > due {
			t.Fatalf("looks again at %d, the state is due at %d", next, due)
		}
	}
	if len(s.rows) != 0 || s.sequence != 1 {
		t.Errorf("%d rows encoded, %d states told before one was due", len(s.rows), s.sequence)
	}
	now = due
	s.settle(now)
	told, err := wire.Fleet(j.origin.state().Fleet)
	if err != nil || s.sequence != 2 || told.Endpoints[0].Loads[0].InFlight != 40 {
		t.Errorf("told %v, error %v", told, err)
	}
}
