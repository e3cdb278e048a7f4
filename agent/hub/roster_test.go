package hub

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func relayNamed(name string) *child { return &child{who: who{name: name, relay: true}} }

func TestRoster(t *testing.T) {
	direct := &child{who: who{name: "l"}, seenAt: 70}
	a, b := relayNamed("agent a"), relayNamed("agent b")
	state := func(incarnation uint64, gone bool) *pb.LeafState {
		return &pb.LeafState{Leaf: "l", Incarnation: incarnation, Gone: gone}
	}
	aged := func(s *pb.LeafState, age int64) []*pb.LeafState { s.AgeUs = age; return []*pb.LeafState{s} }
	for _, c := range []struct {
		name string
		do   func(r *roster)
		want []*pb.LeafState // news at 100
		via  *child
	}{
		{"a new leaf is news", func(r *roster) { r.set(a, state(1, false), 90) }, aged(state(1, false), 10), a},
		{"the same again is not", func(r *roster) { r.set(a, state(1, false), 80); r.drain(85); r.set(a, state(1, false), 90) }, nil, a},
		{"a direct leaf is heard with its stream", func(r *roster) { r.set(direct, state(1, false), 10) }, aged(state(1, false), 30), direct},
		{"an end is news, once", func(r *roster) { r.set(a, state(1, false), 80); r.drain(85); r.set(a, state(1, true), 90) }, aged(state(1, true), 10), nil},
		{"a direct leaf whose process ended is gone", func(r *roster) { r.set(direct, state(1, false), 0); r.lost(direct, true) }, aged(state(1, true), 30), nil},
		{"one whose stream was lost may live", func(r *roster) { r.set(direct, state(1, false), 0); r.drain(85); r.lost(direct, false) }, nil, nil},
		{"leaves behind a lost relay may live", func(r *roster) { r.set(a, state(1, false), 80); r.drain(85); r.lost(a, true) }, nil, nil},
		{"a leaf that moved is not ended by where it was", func(r *roster) {
			r.set(a, state(1, false), 80)
			r.set(b, state(1, false), 85)
			r.drain(85)
			r.set(a, state(1, true), 90)
		}, nil, b},
		{"an older process has no say", func(r *roster) { r.set(a, state(2, false), 80); r.drain(85); r.set(b, state(1, false), 90) }, nil, a},
		{"a report alone makes a leaf known", func(r *roster) {
			r.speaks(b, &pb.LeafReport{Leaf: "l", Incarnation: 1}, 95)
		}, aged(&pb.LeafState{Leaf: "l", Incarnation: 1, Via: "agent b"}, 5), b},
		{"a report shows the new way to a leaf", func(r *roster) {
			r.set(a, state(1, false), 80)
			r.drain(85)
			r.speaks(b, &pb.LeafReport{Leaf: "l", Incarnation: 1}, 95)
		}, nil, b},
		{"a new parent is told all", func(r *roster) { r.set(a, state(1, false), 80); r.drain(85); r.resend() }, aged(state(1, false), 20), a},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoster()
			c.do(&r)
			if l := r.leaves["l"]; l.via != c.via {
				t.Errorf("spoken for by %v, want %v", l.via, c.via)
			}
			news := r.drain(100)
			if len(news) == 0 {
				news = nil
			}
			if diff := cmp.Diff(c.want, news, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheGoneAreForgottenWhenToldAndTheLostAfterAnHour(t *testing.T) {
	a := relayNamed("agent")
	r := newRoster()
	r.set(a, &pb.LeafState{Leaf: "gone"}, 10)
	r.set(a, &pb.LeafState{Leaf: "gone", Gone: true}, 10)
	r.set(a, &pb.LeafState{Leaf: "lost"}, 10)
	r.drain(10)
	if len(r.leaves) != 1 {
		t.Errorf("%d known after the end was told, want 1", len(r.leaves))
	}
	r.lost(a, true)
	if r.forget(keepLost); len(r.leaves) != 1 {
		t.Error("forgotten too early")
	}
	if r.forget(keepLost + 20); len(r.leaves) != 0 {
		t.Error("never forgotten")
	}
}
