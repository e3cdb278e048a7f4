package hub

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	protobuf "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func marshalled(t testing.TB, m *message) []byte {
	t.Helper()
	out, err := Codec().Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out.Materialize()
}

func messageOf(d *delta, v View, number uint32) *message {
	u := d.update(2e6, v, number)
	u.HeadGeneration = 77
	return &message{&pb.SyncResponse{Sequence: 3, Seen: 2, HeldUs: 900, Message: &pb.SyncResponse_Update{Update: u}}, d}
}

// Rule 5: a message is a concatenation of what is encoded once, and says what protobuf does.
func TestRule5SharedBytesSayWhatProtobufWould(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5))
		some := func() rows {
			out := rows{}
			for i := range r.IntN(30) {
				out[fmt.Sprint("endpoint", i)] = strings.Repeat("b", r.IntN(3*small))
			}
			return out
		}
		first, second := fleetAt(1, 5, some()), fleetAt(2, 9, some())
		for _, d := range []*delta{trackOf(first, second).delta(pointOf(first)), trackOf(second).delta(point{})} {
			for number := range uint32(3) {
				m := messageOf(d, View{}, number)
				plain, err := protobuf.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				got := &pb.SyncResponse{}
				if err := protobuf.Unmarshal(marshalled(t, m), got); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if !protobuf.Equal(m.SyncResponse, got) {
					t.Fatalf("seed %d: %s", seed, cmp.Diff(m.SyncResponse, got, protocmp.Transform()))
				}
				if n := len(marshalled(t, m)); n != len(plain) {
					t.Fatalf("seed %d: %d bytes, by protobuf %d", seed, n, len(plain))
				}
			}
		}
	}
}

// Rule 5: bodies are not copied for each child, and no view has bytes of another.
func TestRule5BodiesAreSharedAndViewsAreNot(t *testing.T) {
	large := strings.Repeat("a secret of mine", 1000)
	mine, theirs := trackOf(catalogAt(1, rows{"a": large, "b": "1"})), trackOf(catalogAt(1, rows{"b": "1"}))
	m := messageOf(mine.delta(point{}), View{}, 1)
	per := testing.AllocsPerRun(100, func() { marshalled0(m) })
	if per > 12 {
		t.Errorf("a child's message takes %v allocations", per)
	}
	one, _ := Codec().Marshal(m)
	other, _ := Codec().Marshal(messageOf(mine.delta(point{}), View{}, 2))
	same := 0
	for i := range one {
		a, b := one[i].ReadOnlyData(), other[min(i, len(other)-1)].ReadOnlyData()
		if len(a) == len(large) && &a[0] == &b[0] {
			same++
		}
	}
	if same != 1 {
		t.Errorf("%d large bodies are the same bytes for two children, want 1", same)
	}
	if got := marshalled(t, messageOf(theirs.delta(point{}), View{}, 1)); bytes.Contains(got, []byte("secret")) {
		t.Error("another view has it")
	}
}

func marshalled0(m *message) { _, _ = Codec().Marshal(m) }

// A server without the codec encodes the same, each by itself.
func TestRule5AServerWithoutTheCodecSendsTheSame(t *testing.T) {
	m := messageOf(trackOf(catalogAt(1, rows{"a": "1"})).delta(point{}), View{}, 1)
	plain, err := encoding.GetCodecV2(proto.Name).Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	got := &pb.SyncResponse{}
	if err := Codec().Unmarshal(plain, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.SyncResponse, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// Rule 1: a track waits for no other, and a replica has the fleet's alone.
func TestRule1TracksDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}), fleetAt(1, 0, rows{"a": "1"}))
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		all := v.updates()
		if len(all) != 2 {
			t.Fatalf("sent %v, want both tracks", all)
		}
		for _, u := range all {
			if u.Track == fleetTrack {
				v.took(u)
			}
		}
		w.hub.PublishUrgent(everything, fleetAt(2, 0, rows{"a": "open"}))
		if u := v.update(); u.Track != fleetTrack || u.Version.Sequence != 2 {
			t.Errorf("sent %v while the catalog is in flight", u)
		}
	})
}

func TestRule1AReplicaIsServedTheFleetsTrackAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		defer w.stop()
		fleets := View{Selector: everything.Selector, FleetOnly: true}
		if fleets.Key() == everything.Key() {
			t.Fatal("the two views are one")
		}
		w.mu.Lock()
		w.states[fleets.Key()] = append(w.states[fleets.Key()], catalogAt(1, rows{"a": "1"}), fleetAt(1, 0, rows{"a": "1"}))
		w.mu.Unlock()
		v := w.visit(&pb.Hello{Leaf: "replica", Relay: true, Subscribe: &pb.Subscribe{View: 1, All: true, FleetOnly: true}})
		defer v.leave()
		v.took(v.update())
		w.hub.PublishUrgent(fleets, catalogAt(2, rows{"a": "2"}))
		w.hub.PublishUrgent(fleets, fleetAt(2, 0, rows{"a": "2"}))
		if u := v.update(); u.Track != fleetTrack || u.Version.Sequence != 2 {
			t.Errorf("sent %v", u)
		}
	})
}

// What a metric counts is there, and goes with its cause.
func TestFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(2, rows{"e": "1"}))
		defer w.stop()
		ahead := catalogAt(9, rows{"a": "9"})
		v, relay := w.visit(helloOf("l")), w.visit(relayOf("n"))
		late := w.visit(helloOf("ahead", &pb.Held{Track: catalogTrack, View: 1, Version: ahead.Version(), Digest: ahead.Digest()}))
		defer relay.leave()
		defer late.leave()
		u := v.update()
		time.Sleep(3 * time.Second)
		if got := w.hub.Figures().Oldest; got != 3e6 {
			t.Errorf("the oldest update in flight waits for %d µs", got)
		}
		v.refuse(u, "bad")
		relay.took(relay.update())
		got := w.hub.Figures()
		got.Bytes = 0
		want := Figures{Children: 3, Relays: 1, Leaves: 2, Views: 1, Behind: 1, Joined: 3, Nacks: 1, Totals: Totals{Updates: 2}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		v.leave()
		if got := w.hub.Figures(); got.Children != 2 || got.Behind != 1 {
			t.Errorf("after one left: %+v", got)
		}
	})
}
