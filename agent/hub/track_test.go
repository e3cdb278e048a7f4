package hub

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	catalogTrack = pb.Track_TRACK_CATALOG
	fleetTrack   = pb.Track_TRACK_FLEET
)

// rows maps names to bodies.
type rows map[string]string

func catalogAt(generation uint64, r rows) *wire.State {
	return stateOf(catalogTrack, &pb.Version{StoreId: "store", Epoch: 1, Generation: generation}, r, 0)
}

func fleetAt(sequence uint64, at int64, r rows) *wire.State {
	return stateOf(fleetTrack, &pb.Version{StoreId: "store", Epoch: 1, Term: 9, Sequence: sequence}, r, at)
}

func stateOf(track pb.Track, v *pb.Version, r rows, at int64) *wire.State {
	kind := pb.Kind_KIND_ENDPOINT
	if track == fleetTrack {
		kind = pb.Kind_KIND_FLEET_ENDPOINT
	}
	entries := map[wire.Key]wire.Entry{}
	for name, body := range r {
		entries[wire.Key{Kind: kind, Name: name}] = wire.Entry{Body: []byte(body), Hash: wire.HashOf([]byte(body)), At: at}
	}
	return wire.NewState(track, v, entries)
}

// put installs a state at once.
func (t *track) put(s *wire.State) {
	t.install(s, differences(t.state, s))
}

func trackOf(states ...*wire.State) *track {
	t := newTrack(states[0].Track(), catalogPace)
	for _, s := range states {
		t.put(s)
	}
	return t
}

// said renders what a delta carries.
func said(d *delta) []string {
	var out []string
	if d.since == nil {
		out = append(out, "whole")
	}
	for _, r := range d.upserts {
		out = append(out, r.Name+"="+string(r.Body))
	}
	for _, r := range d.removed {
		out = append(out, "-"+r.Name)
	}
	return out
}

func TestDelta(t *testing.T) {
	one, two := catalogAt(1, rows{"a": "1", "b": "1"}), catalogAt(2, rows{"a": "1", "c": "1"})
	foreign := point{proto.CloneOf(one.Version()), string(one.Digest())}
	foreign.version.StoreId = "another"
	for _, c := range []struct {
		name  string
		track *track
		held  point
		want  []string
	}{
		{"nothing held gets the whole", trackOf(one), point{}, []string{"whole", "a=1", "b=1"}},
		{"equal version and digest gets no resources", trackOf(one), pointOf(one), nil},
		{"equal version without a digest proves nothing", trackOf(one), point{version: one.Version()}, []string{"whole", "a=1", "b=1"}},
		{"equal version with another digest gets the whole", trackOf(one), point{one.Version(), "other"}, []string{"whole", "a=1", "b=1"}},
		{"an older state gets what changed, and what went", trackOf(one, catalogAt(2, rows{"a": "1"})), pointOf(one), []string{"-b"}},
		{"a state older than the log gets the whole", trackOf(two), pointOf(one), []string{"whole", "a=1", "c=1"}},
		{"another store's state gets the whole", trackOf(one), foreign, []string{"whole", "a=1", "b=1"}},
		{
			"a row that came and went is only removed",
			trackOf(one, catalogAt(2, rows{"a": "1", "b": "1", "x": "1"}), catalogAt(3, rows{"a": "1", "b": "1"})),
			pointOf(one), []string{"-x"},
		},
		{
			"a version seen by another replica only is as good as one seen here",
			trackOf(one, catalogAt(3, rows{"a": "3", "b": "1"})),
			pointOf(catalogAt(2, rows{"a": "2", "b": "1"})), []string{"a=3"},
		},
		{
			"a version served twice with other content proves nothing",
			trackOf(one, catalogAt(1, rows{"a": "2"}), catalogAt(2, rows{"a": "3"})),
			pointOf(one), []string{"whole", "a=3"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, said(c.track.delta(c.held))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARowDatedAnewTravelsWithoutItsBody(t *testing.T) {
	first, again := fleetAt(1, 100, rows{"a": "1"}), fleetAt(2, 5_000, rows{"a": "1"})
	u := trackOf(first, again).delta(pointOf(first)).update(5_300, View{}, 1)
	if len(u.Upserts) != 0 || len(u.Ages) != 1 || u.Ages[0].AgeUs != 300 {
		t.Errorf("upserts %v, ages %v; want one age of 300", u.Upserts, u.Ages)
	}
}

// Rule 9: a relay that was suspended tells of older dates, until its parent dates the rows
// anew at the same version.
func TestRule9NewDatesOfTheSameVersionReachWhoeverHoldsIt(t *testing.T) {
	held := fleetAt(2, 100, rows{"a": "1", "b": "1"})
	tr := trackOf(fleetAt(1, 100, rows{"a": "1"}), held, fleetAt(2, 700, rows{"a": "1", "b": "1"}))
	u := tr.delta(pointOf(held)).update(1_000, View{}, 1)
	if len(u.Upserts) != 0 || len(u.Ages) != 2 || u.Ages[0].AgeUs != 300 {
		t.Errorf("upserts %v, ages %v; want ages of 300 alone", u.Upserts, u.Ages)
	}
	tr.put(fleetAt(3, 700, rows{"a": "1", "b": "1", "c": "1"}))
	u = tr.delta(pointOf(held)).update(1_000, View{}, 1)
	if len(u.Upserts) != 1 || len(u.Ages) != 3 {
		t.Errorf("after another version: upserts %v, ages %v; want one and three", u.Upserts, u.Ages)
	}
}

func TestRule5EveryDeltaLeadsToTheNewestState(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		states := []*wire.State{fleetAt(1, 0, rows{"e0": "0"})}
		tr := trackOf(states[0])
		for generation := uint64(2); generation < 60; generation++ {
			next := rows{}
			for i := range r.IntN(12) {
				next[fmt.Sprint("e", i)] = fmt.Sprint(r.IntN(3))
			}
			states = append(states, fleetAt(generation, 0, next))
			tr.put(states[len(states)-1])
			if r.IntN(10) == 0 {
				tr.trim(20)
			}
			held := states[r.IntN(len(states))]
			got, err := held.Apply(0, tr.delta(pointOf(held)).update(0, View{}, 1))
			if err != nil {
				t.Fatalf("seed %d, from %v to %v: %v", seed, held.Version(), tr.state.Version(), err)
			}
			if string(got.Digest()) != string(tr.state.Digest()) {
				t.Fatalf("seed %d: another state", seed)
			}
		}
	}
}

func TestTheLogIsBounded(t *testing.T) {
	tr := trackOf(catalogAt(1, rows{"a": "0"}))
	for g := uint64(2); g < 10_000; g++ {
		tr.put(catalogAt(g, rows{"a": fmt.Sprint(g)}))
	}
	if len(tr.log) > 130 {
		t.Errorf("%d changes kept for one row", len(tr.log))
	}
	if got := said(tr.delta(pointOf(catalogAt(2, rows{"a": "2"})))); got[0] != "whole" {
		t.Errorf("a state from before the log got %v", got)
	}
}

func TestRule11Pace(t *testing.T) {
	const ms = 1000
	for _, c := range []struct {
		name   string
		fresh  bool
		offers []int64
		urgent bool
		want   int64
	}{
		{"the first state waits for nothing", true, []int64{5 * ms}, false, 5 * ms},
		{"news waits until it is quiet", false, []int64{5 * ms}, false, 105 * ms},
		{"more news prolongs the wait", false, []int64{5 * ms, 65 * ms}, false, 165 * ms},
		{"but to one second at most", false, []int64{0, 90 * ms, 180 * ms, 960 * ms}, false, 1000 * ms},
		{"an urgent one goes at once", false, []int64{5 * ms}, true, 5 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := trackOf(catalogAt(1, nil))
			if c.fresh {
				tr = newTrack(catalogTrack, catalogPace)
			}
			for i, at := range c.offers {
				tr.offer(at, catalogAt(uint64(i)+2, nil), c.urgent)
			}
			if got := tr.due(); got != c.want {
				t.Errorf("due at %d, want %d", got, c.want)
			}
		})
	}
}

func TestWhatIsNoNewsChangesNothing(t *testing.T) {
	held := fleetAt(2, 100, rows{"a": "1"})
	tr := trackOf(held)
	if tr.offer(0, fleetAt(1, 100, rows{"a": "9"}), true); tr.next != nil {
		t.Errorf("took %v, an older state", tr.next.Version())
	}
	if tr.put(fleetAt(2, 100, rows{"a": "1"})); tr.state != held {
		t.Error("the same again was news")
	}
	if tr.put(fleetAt(2, 50, rows{"a": "1"})); tr.state == held {
		t.Error("the same with other dates, after a suspend, was not taken")
	}
}

func TestRule8AnEmptyStateSaysWhy(t *testing.T) {
	empty := catalogAt(1, nil)
	for _, c := range []struct {
		name  string
		view  View
		state *wire.State
		want  pb.EmptyReason
	}{
		{"nothing asked for", View{}, empty, pb.EmptyReason_EMPTY_REASON_UNSUBSCRIBED},
		{"nothing allowed", View{Selector: wire.Selector{All: true}}, empty.Because(pb.EmptyReason_EMPTY_REASON_PERMISSION), pb.EmptyReason_EMPTY_REASON_PERMISSION},
		{"nothing known why", View{Selector: wire.Selector{All: true}}, empty, pb.EmptyReason_EMPTY_REASON_UNSPECIFIED},
		{"not empty", View{}, catalogAt(1, rows{"a": "1"}), pb.EmptyReason_EMPTY_REASON_UNSPECIFIED},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := trackOf(c.state).delta(point{}).update(0, c.view, 1).Empty; got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
