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
	j := newJudge(func() int64 { return now }, newOrigin(), newDiary(hclog.NewNullLogger()), hclog.NewNullLogger())
	s := newSession(j, standing(1))
	j.apply(&route.Catalog{
		Endpoints: []route.Endpoint{{Name: "a", Identity: 1, Breaker: breaker.Policy{Window: 5e6, SlowWindow: 60e6, MinSamples: 20, FailureRatio: 1, Cooldown: 5e6, Probes: 3}}},
		Workloads: []route.Workload{{Name: "chat", Tiers: []route.Tier{{Endpoints: []string{"a"}}}}},
	})
	s.begin(nil)
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
	j := newJudge(func() int64 { return now }, newOrigin(), newDiary(hclog.NewNullLogger()), hclog.NewNullLogger())
	s := newSession(j, standing(1))
	j.apply(&route.Catalog{Endpoints: []route.Endpoint{{Name: "a", Identity: 1, Breaker: breaker.Policy{Window: 10e6, SlowWindow: 60e6, MinSamples: 20, FailureRatio: 0.5, Cooldown: 5e6, Probes: 3}}}})
	s.begin(nil)
	s.settle(now)
	due := now + fleetPace
	for n := range uint64(40) {
		now += 1000
		row := &pb.Row{Endpoint: "a", Identity: 1, Class: pb.Class_CLASS_ANY, Admitted: 1, InFlight: n + 1}
		s.observe(arrival{&pb.Report{Leaves: []*pb.LeafReport{{Leaf: "l", Sequence: n + 1, Rows: []*pb.Row{row}}}}, now})
		if next, _ := s.settle(now); next > due {
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

// standing is a term that holds for ever.
func standing(number uint64) term { return term{number: number, holds: func() bool { return true }} }

// heldState is what a replica held of an earlier term, said by ago.
func heldState(t *testing.T, at int64, rows ...route.FleetEndpoint) *wire.State {
	t.Helper()
	entries := map[wire.Key]wire.Entry{}
	for i := range rows {
		r, err := wire.EncodeFleetEndpoint(at, &rows[i])
		if err != nil {
			t.Fatal(err)
		}
		entries[endpointKey(rows[i].Name)] = entryOf(r, at)
	}
	in, err := wire.EncodeFleetInstances(route.FleetInstances{Endpoint: "many", Instances: []route.FleetInstance{{Address: "10.0.0.1:80"}}})
	if err != nil {
		t.Fatal(err)
	}
	entries[wire.Key{Kind: pb.Kind_KIND_FLEET_INSTANCES, Name: "many"}] = entryOf(in, 0)
	return wire.NewState(pb.Track_TRACK_FLEET, &pb.Version{Term: 1, Sequence: 99}, entries)
}

// A term begins with the rows of the one before, as they were said and with their ages, and
// learns the rest anew.
func TestATermBeginsWithTheRowsOfTheOneBefore(t *testing.T) {
	now := int64(100e6)
	j := newJudge(func() int64 { return now }, newOrigin(), newDiary(hclog.NewNullLogger()), hclog.NewNullLogger())
	endpoint := route.Endpoint{Breaker: breaker.Policy{Window: 10e6, SlowWindow: 60e6, MinSamples: 20, FailureRatio: 0.5, Cooldown: 5e6, CooldownMax: 60e6, Probes: 3}}
	c := &route.Catalog{}
	for i, name := range []string{"idle", "loaded", "elsewhere", "many"} {
		e := endpoint
		e.Name, e.Identity = name, uint64(i+1)
		c.Endpoints = append(c.Endpoints, e)
	}
	c.Endpoints[3].Instances.DNS = "many.example:80"
	instance := c.Endpoints[3].At("10.0.0.1:80")
	load := []route.FleetLoad{{InFlight: 3, Successes: 5, Samples: 5}}
	j.apply(c)
	s := newSession(j, standing(2))
	said := now - 8e6
	s.begin(heldState(t, said,
		route.FleetEndpoint{Name: "idle", Identity: 1, Loads: load},
		route.FleetEndpoint{Name: "loaded", Identity: 2, Loads: load},
		route.FleetEndpoint{Name: "elsewhere", Identity: 77, Loads: load},
		route.FleetEndpoint{Name: instance.Name, Identity: instance.Identity, Loads: load},
	))
	told := func() map[string]int64 {
		t.Helper()
		s.settle(now)
		f, err := wire.Fleet(j.origin.state().Fleet)
		if err != nil || f.Version.Term != 2 || len(f.Instances) != 1 {
			t.Fatal(f, err)
		}
		out := map[string]int64{}
		for _, e := range f.Endpoints {
			out[e.Name] = e.At
		}
		return out
	}
	if diff := cmp.Diff(map[string]int64{"idle": said, "loaded": said, instance.Name: said}, told()); diff != "" {
		t.Error(diff)
	}
	now += 1e6
	row := &pb.Row{Endpoint: "loaded", Identity: 2, Class: pb.Class_CLASS_ANY, Admitted: 1, InFlight: 1}
	s.observe(arrival{&pb.Report{Leaves: []*pb.LeafReport{{Leaf: "l", Sequence: 1, Rows: []*pb.Row{row}}}}, now})
	if diff := cmp.Diff(map[string]int64{"idle": said, "loaded": now, instance.Name: said}, told()); diff != "" {
		t.Errorf("after a report: %s", diff)
	}
	now = said + heldFor
	if diff := cmp.Diff(map[string]int64{"loaded": 101e6}, told()); diff != "" {
		t.Errorf("after 30 s without news: %s", diff)
	}
}

// What is judged of an endpoint with instances is each instance.
func TestInstancesAreToldAndJudgedApart(t *testing.T) {
	now := int64(1e6)
	j := newJudge(func() int64 { return now }, newOrigin(), newDiary(hclog.NewNullLogger()), hclog.NewNullLogger())
	j.apply(&route.Catalog{Endpoints: []route.Endpoint{{Name: "many", Identity: 1, Instances: route.Instances{DNS: "many.example:80"}}}})
	s := newSession(j, standing(2))
	s.begin(nil)
	s.settle(now)
	j.resolved([]route.FleetInstances{{Endpoint: "many", Instances: []route.FleetInstance{{Address: "10.0.0.1:80"}, {Address: "10.0.0.2:80"}}}})
	<-j.wake
	s.apply()
	for _, e := range route.Expand(s.catalog, *s.instances).Endpoints {
		row := &pb.Row{Endpoint: e.Name, Identity: e.Identity, Class: pb.Class_CLASS_ANY, Admitted: 1, InFlight: 1}
		s.observe(arrival{&pb.Report{Leaves: []*pb.LeafReport{{Leaf: "of " + e.Name, Sequence: 1, Rows: []*pb.Row{row}}}}, now})
	}
	now += fleetPace
	s.settle(now)
	f, err := wire.Fleet(j.origin.state().Fleet)
	if err != nil || len(f.Instances) != 1 || len(f.Instances[0].Instances) != 2 {
		t.Fatal(f, err)
	}
	var names []string
	for _, e := range f.Endpoints {
		names = append(names, e.Name)
	}
	if diff := cmp.Diff([]string{"many@10.0.0.1:80", "many@10.0.0.2:80"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsKnownOfAnEarlierTermIsWhyBreakersAreNotClosed(t *testing.T) {
	known := notes{}
	known.recall(&route.Fleet{Endpoints: []route.FleetEndpoint{
		{Name: "a", Breakers: []route.FleetBreaker{{State: route.FleetRamp, Round: 7, Reason: "3 of 4 nodes"}}},
		{Name: "b", Breakers: []route.FleetBreaker{{State: route.FleetHalfOpen, Round: 2, Reason: "slow"}}},
		{Name: "c", Breakers: []route.FleetBreaker{{State: route.FleetClosed, Round: 2, Reason: "slow"}}},
	}})
	want := map[string][]string{"a": {"any, round 7: 3 of 4 nodes"}, "b": {"any, round 2: slow"}}
	if diff := cmp.Diff(want, known.evidence()); diff != "" {
		t.Error(diff)
	}
}
