package wire

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	catalogTrack = pb.Track_TRACK_CATALOG
	fleetTrack   = pb.Track_TRACK_FLEET
)

func gen(n uint64) *pb.Version { return &pb.Version{StoreId: "s", Epoch: 1, Generation: n} }

func resource(t testing.TB, kind pb.Kind, name string, m proto.Message) *pb.Resource {
	t.Helper()
	r, err := Resource(kind, name, m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stateOf makes a state of resources, undated.
func stateOf(track pb.Track, v *pb.Version, rs ...*pb.Resource) *State {
	entries := map[Key]Entry{}
	for _, r := range rs {
		entries[Key{r.Kind, r.Name}] = Entry{Body: r.Body, Hash: HashOf(r.Body)}
	}
	return NewState(track, v, entries)
}

func quota(t testing.TB, name string, rpm int64) *pb.Resource {
	return resource(t, pb.Kind_KIND_QUOTA, name, &pb.Quota{Name: name, RequestsPerMinute: &rpm})
}

// step is the update from one state to another.
func step(since *State, to *State, upserts []*pb.Resource, removed ...string) *pb.Update {
	u := &pb.Update{Track: to.Track(), Since: since.Version(), Version: to.Version(), Upserts: upserts, Digest: to.Digest()}
	for _, name := range removed {
		u.Removed = append(u.Removed, &pb.ResourceRef{Kind: pb.Kind_KIND_QUOTA, Name: name})
	}
	return u
}

func names(s *State) []string {
	var out []string
	for k := range s.All() {
		out = append(out, k.Name)
	}
	return out
}

func TestAnUpdateAppliesToAnyStateAtOrAboveSince(t *testing.T) {
	a, b, c := quota(t, "a", 1), quota(t, "b", 1), quota(t, "c", 1)
	one := stateOf(catalogTrack, gen(1), a, b)
	two := stateOf(catalogTrack, gen(2), a, b, c)
	three := stateOf(catalogTrack, gen(3), a, c)
	u := step(one, three, []*pb.Resource{c}, "b")
	for _, from := range []*State{one, two, three} {
		got, err := from.Apply(0, u)
		if err != nil {
			t.Fatalf("from %v: %v", from.Version(), err)
		}
		if diff := cmp.Diff([]string{"a", "c"}, names(got)); diff != "" {
			t.Errorf("from %v: %s", from.Version(), diff)
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, names(one)); diff != "" {
		t.Errorf("applying changed the state it started from: %s", diff)
	}
}

func TestARefusedUpdate(t *testing.T) {
	a := quota(t, "a", 1)
	one, two := stateOf(catalogTrack, gen(1), a), stateOf(catalogTrack, gen(2), a)
	empty := stateOf(catalogTrack, gen(3))
	wrong := step(one, two, nil)
	wrong.Digest = []byte("other")
	for name, test := range map[string]struct {
		from *State
		u    *pb.Update
		is   error
	}{
		"that starts above the state":        {one, step(two, two, nil), ErrSince},
		"that starts anywhere without state": {nil, step(one, two, nil), ErrSince},
		"that is older":                      {two, step(nil, one, []*pb.Resource{a}), ErrOlder},
		"that empties without a reason":      {two, step(two, empty, nil, "a"), errEmpty},
		"that is empty from the start":       {nil, step(nil, empty, nil), errEmpty},
		"without a version":                  {nil, &pb.Update{Track: catalogTrack}, nil},
		"of a track of the future":           {nil, &pb.Update{Track: 9, Version: gen(1)}, nil},
		"of the other track":                 {one, &pb.Update{Track: fleetTrack, Version: gen(9)}, nil},
		"with a kind of the other track":     {one, step(one, two, []*pb.Resource{{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: "e"}}), nil},
		"with a nameless resource":           {one, step(one, two, []*pb.Resource{{Kind: pb.Kind_KIND_QUOTA}}), nil},
	} {
		got, err := test.from.Apply(0, test.u)
		if got != nil || err == nil || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("an update %s: state %v, error %v", name, got, err)
		}
	}
	var digest *DigestError
	if _, err := one.Apply(0, wrong); !errors.As(err, &digest) {
		t.Errorf("another digest: %v", err)
	}
}

func TestAnEmptyCatalogSaysWhyAndKeepsSayingIt(t *testing.T) {
	one := stateOf(catalogTrack, gen(1), quota(t, "a", 1))
	u := step(one, stateOf(catalogTrack, gen(2)), nil, "a")
	u.Empty = pb.EmptyReason_EMPTY_REASON_PERMISSION
	s, err := one.Apply(0, u)
	if err != nil {
		t.Fatal(err)
	}
	again, err := (*State)(nil).Apply(0, Whole(0, 1, s))
	if err != nil || again.Empty() != u.Empty {
		t.Errorf("reason %v, error %v", again.Empty(), err)
	}
}

func TestAFleetTrackMayBeEmpty(t *testing.T) {
	if _, err := (*State)(nil).Apply(0, Whole(0, 1, stateOf(fleetTrack, gen(1)))); err != nil {
		t.Error(err)
	}
}

func TestAtEqualGenerationAnotherDigestApplies(t *testing.T) {
	one, other := stateOf(catalogTrack, gen(1), quota(t, "a", 1)), stateOf(catalogTrack, gen(1), quota(t, "a", 2))
	got, err := one.Apply(0, Whole(0, 1, other))
	if err != nil || !slices.Equal(got.Digest(), other.Digest()) {
		t.Errorf("digest %x, error %v", got.Digest(), err)
	}
}

func TestAKindOfTheFutureCountsInTheDigest(t *testing.T) {
	future := &pb.Resource{Kind: 31, Name: "x", Body: []byte{0xff}}
	with, without := stateOf(catalogTrack, gen(1), quota(t, "a", 1), future), stateOf(catalogTrack, gen(1), quota(t, "a", 1))
	if slices.Equal(with.Digest(), without.Digest()) {
		t.Fatal("it does not")
	}
	got, err := (*State)(nil).Apply(0, Whole(0, 1, with))
	if err != nil || got.Len() != 2 {
		t.Errorf("kept %d resources, error %v", got.Len(), err)
	}
}

func TestWhatDidNotChangeIsShared(t *testing.T) {
	one := stateOf(catalogTrack, gen(1), quota(t, "a", 1), quota(t, "b", 1))
	two := stateOf(catalogTrack, gen(2), quota(t, "a", 1), quota(t, "b", 2))
	got, err := one.Apply(0, Whole(0, 1, two)) // whole, with bodies of its own
	if err != nil {
		t.Fatal(err)
	}
	key := Key{pb.Kind_KIND_QUOTA, "a"}
	before, _ := one.Lookup(key)
	after, ok := got.Lookup(key)
	if !ok || &before.Body[0] != &after.Body[0] {
		t.Error("an equal body was copied")
	}
}

func TestRowsAreDatedByTheirAges(t *testing.T) {
	key := Key{pb.Kind_KIND_QUOTA, "a"}
	a := quota(t, "a", 1)
	u := Whole(0, 1, stateOf(catalogTrack, gen(1), a))
	s := (*State)(nil)
	apply := func(dated, age int64) int64 {
		t.Helper()
		u.Ages = []*pb.Age{{Kind: key.Kind, Name: key.Name, AgeUs: age}, {Kind: key.Kind, Name: "gone"}}
		next, err := s.Apply(dated, u)
		if err != nil {
			t.Fatal(err)
		}
		s = next
		e, _ := s.Lookup(key)
		return e.At
	}
	for _, test := range []struct {
		name             string
		dated, age, want int64
	}{
		{"an age counts back from the message", 100, 40, 60},
		{"a late message never makes a row older than it is", 80, 40, 60},
		{"nor is a negative age from the future", 70, -50, 70},
		{"a newer word counts", 200, 10, 190},
	} {
		if got := apply(test.dated, test.age); got != test.want {
			t.Errorf("%s: at %d, want %d", test.name, got, test.want)
		}
	}
	u.Ages = nil
	next, _ := s.Apply(900, u)
	if e, _ := next.Lookup(key); e.At != 190 {
		t.Errorf("without an age a row is dated %d, want as before", e.At)
	}
	if e, _ := s.Older(90).Lookup(key); e.At != 100 {
		t.Errorf("90 µs older is at %d, want 100", e.At)
	}
	if e, _ := stateOf(catalogTrack, gen(1), a).Older(90).Lookup(key); e.At != 0 {
		t.Errorf("what has no date got %d by growing older", e.At)
	}
}

func TestWholeReadsBack(t *testing.T) {
	entries := map[Key]Entry{}
	a, b := quota(t, "a", 1), quota(t, "b", 2)
	entries[Key{a.Kind, "a"}] = Entry{Body: a.Body, Hash: HashOf(a.Body), At: 40}
	entries[Key{b.Kind, "b"}] = Entry{Body: b.Body, Hash: HashOf(b.Body)}
	s := NewState(catalogTrack, gen(7), entries)
	bytes, err := proto.Marshal(Whole(100, 3, s))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(1100, bytes)
	if err != nil {
		t.Fatal(err)
	}
	want := maps.Collect(s.All())
	dated := want[Key{a.Kind, "a"}]
	dated.At += 1000 // written at 100, which the reader calls 1100
	want[Key{a.Kind, "a"}] = dated
	if diff := cmp.Diff(want, maps.Collect(got.All())); diff != "" {
		t.Error(diff)
	}
	if !proto.Equal(got.Version(), gen(7)) {
		t.Errorf("version %v", got.Version())
	}
	if _, err := Read(0, bytes[:len(bytes)-1]); err == nil {
		t.Error("a file cut short was read")
	}
}

func TestVersionsCompare(t *testing.T) {
	catalog := []*pb.Version{nil, {Epoch: 1, Generation: 9, Revision: 5}, {Epoch: 2, Generation: 1, Revision: 1}, {Epoch: 2, Generation: 2}}
	fleet := []*pb.Version{nil, {Epoch: 1, Term: 9, Sequence: 9}, {Epoch: 2, Term: 1, Sequence: 9}, {Epoch: 2, Term: 2, Sequence: 1}, {Epoch: 2, Term: 2, Sequence: 2}}
	for track, order := range map[pb.Track][]*pb.Version{catalogTrack: catalog, fleetTrack: fleet} {
		for i, a := range order {
			for j, b := range order {
				got := Compare(track, a, b)
				if (got < 0) != (i < j) || (got > 0) != (i > j) {
					t.Errorf("%v: %v against %v: %d", track, a, b, got)
				}
			}
		}
	}
	if Compare(catalogTrack, &pb.Version{Revision: 1}, &pb.Version{Revision: 2}) != 0 {
		t.Error("a revision orders")
	}
}

// What was given out never changes: whoever reads an old state reads what it was.
func TestAStateThatWasGivenOutNeverChanges(t *testing.T) {
	rows := map[Key]Entry{}
	for k, e := range stateOf(catalogTrack, gen(1), quota(t, "a", 1), quota(t, "b", 1), quota(t, "c", 1)).All() {
		e.At = 100
		rows[k] = e
	}
	one := NewState(catalogTrack, gen(1), rows)
	before := maps.Collect(one.All())
	two := stateOf(catalogTrack, gen(2), quota(t, "a", 2), quota(t, "c", 1), quota(t, "d", 1))
	u := step(one, two, []*pb.Resource{quota(t, "a", 2), quota(t, "d", 1)}, "b")
	u.Ages = []*pb.Age{{Kind: pb.Kind_KIND_QUOTA, Name: "c", AgeUs: 5}}
	for range 3 {
		if _, err := one.Apply(300, u); err != nil {
			t.Fatal(err)
		}
		one.Older(50)
		one.Because(pb.EmptyReason_EMPTY_REASON_PERMISSION)
		delete(rows, Key{pb.Kind_KIND_QUOTA, "a"}) // what it was made of is its maker's
	}
	if diff := cmp.Diff(before, maps.Collect(one.All())); diff != "" {
		t.Error(diff)
	}
	if again := NewState(catalogTrack, gen(1), before); !slices.Equal(again.Digest(), one.Digest()) {
		t.Error("its digest is no more that of what it holds")
	}
}
