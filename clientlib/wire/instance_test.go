package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestInstancesRoundTrip(t *testing.T) {
	in := route.FleetInstances{Endpoint: "own", Instances: []route.FleetInstance{{Address: "10.0.0.1:8000", Identity: 5}, {Address: "[fd00::1]:8000", Identity: 6}}}
	r, err := EncodeFleetInstances(in)
	if err != nil {
		t.Fatal(err)
	}
	none, err := EncodeFleetInstances(route.FleetInstances{Endpoint: "taken-back"})
	if err != nil {
		t.Fatal(err)
	}
	s := stateOf(pb.Track_TRACK_FLEET, &pb.Version{StoreId: "s", Term: 1, Sequence: 1}, r, none)
	f, err := Fleet(s)
	if err != nil {
		t.Fatal(err)
	}
	want := []route.FleetInstances{in, {Endpoint: "taken-back"}}
	if diff := cmp.Diff(want, f.Instances); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, Instances(s)); diff != "" {
		t.Error(diff)
	}
}

func TestInstancesThatCannotBeAreRefused(t *testing.T) {
	for want, m := range map[string]*pb.FleetInstances{
		"is no address":    {Endpoint: "own", Instances: []*pb.FleetInstance{{Address: "10.0.0.1/evil:80"}}},
		"other name":       {Endpoint: "other"},
		"at most 1000":     {Endpoint: "own", Instances: make([]*pb.FleetInstance, 1001)},
		`"" is no address`: {Endpoint: "own", Instances: []*pb.FleetInstance{{}}},
	} {
		s := stateOf(pb.Track_TRACK_FLEET, &pb.Version{Term: 1}, resource(t, pb.Kind_KIND_FLEET_INSTANCES, "own", m))
		if want == "other name" {
			want = otherName
		}
		if _, err := Fleet(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		if got := Instances(s); len(got) > 0 {
			t.Errorf("%s: taken as %v", want, got)
		}
	}
}

// What is said of an instance goes to whom its endpoint goes.
func TestAViewHasTheRowsAndOverridesOfItsInstances(t *testing.T) {
	drain := func(endpoint string) *pb.Resource {
		r, err := Override(&pb.Override{Endpoint: endpoint, What: &pb.Override_Drain{Drain: &pb.Drain{}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	catalog := stateOf(pb.Track_TRACK_CATALOG, gen(1),
		resource(t, pb.Kind_KIND_ENDPOINT, "own", &pb.Endpoint{Name: "own"}), resource(t, pb.Kind_KIND_ENDPOINT, "others", &pb.Endpoint{Name: "others"}),
		resource(t, pb.Kind_KIND_WORKLOAD, "w", &pb.Workload{Name: "w", Tiers: []*pb.Tier{{Endpoints: []string{"own"}}}}),
		drain("own@10.0.0.1:80"), drain("others@10.0.0.1:80"))
	view := NewState(pb.Track_TRACK_CATALOG, gen(1), Closure(catalog, Selector{Workloads: []string{"w"}}))
	if _, ok := view.Lookup(Key{pb.Kind_KIND_OVERRIDE, "drain/own@10.0.0.1:80"}); !ok {
		t.Errorf("the drain of an instance is missing: %v", names(view))
	}
	if _, ok := view.Lookup(Key{pb.Kind_KIND_OVERRIDE, "drain/others@10.0.0.1:80"}); ok {
		t.Errorf("the drain of somebody else's instance is there: %v", names(view))
	}
	row := func(name string) *pb.Resource {
		return resource(t, pb.Kind_KIND_FLEET_ENDPOINT, name, &pb.FleetEndpoint{Endpoint: name})
	}
	in := resource(t, pb.Kind_KIND_FLEET_INSTANCES, "own", &pb.FleetInstances{Endpoint: "own"})
	fleet := stateOf(pb.Track_TRACK_FLEET, &pb.Version{Term: 1}, row("own@10.0.0.1:80"), row("others@10.0.0.1:80"), in)
	cut := FleetClosure(fleet, view)
	if len(cut) != 2 || cut[Key{pb.Kind_KIND_FLEET_ENDPOINT, "own@10.0.0.1:80"}].Body == nil || cut[Key{pb.Kind_KIND_FLEET_INSTANCES, "own"}].Body == nil {
		t.Errorf("cut to %d rows", len(cut))
	}
}

func TestAnOverrideOfAnInstanceIsDecodedWithItsEndpoint(t *testing.T) {
	d := &decoded{overrides: map[string][]route.Override{}, words: map[string][]Key{}, faults: map[Key]string{}}
	r, err := Override(&pb.Override{Endpoint: "own@10.0.0.1:80", What: &pb.Override_Weight{Weight: 3}})
	if err != nil {
		t.Fatal(err)
	}
	d.override(Key{r.Kind, r.Name}, Entry{Body: r.Body, At: 5})
	if o := d.overrides["own"]; len(o) != 1 || o[0].Endpoint != "own@10.0.0.1:80" || o[0].Weight != 3 {
		t.Errorf("decoded: %v", d.overrides)
	}
}

func TestAnEndOfAnOverrideIsOnTheReadersClock(t *testing.T) {
	r, err := Override(&pb.Override{Endpoint: "a", What: &pb.Override_Drain{Drain: &pb.Drain{}}, DurationUs: 100})
	if err != nil {
		t.Fatal(err)
	}
	endless, err := Override(&pb.Override{Endpoint: "a", What: &pb.Override_Drain{Drain: &pb.Drain{}}})
	if err != nil {
		t.Fatal(err)
	}
	if at := OverrideEnds(Entry{Body: r.Body, At: 7}); at != 107 {
		t.Errorf("ends at %d", at)
	}
	if at := OverrideEnds(Entry{Body: endless.Body, At: 7}); at < 1<<62 {
		t.Errorf("one without an end ends at %d", at)
	}
}
