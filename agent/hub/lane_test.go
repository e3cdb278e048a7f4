package hub

import (
	"testing"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func laneOf(t *track, held point) *lane {
	l := &lane{track: t}
	l.claim(&pb.Held{Version: held.version, Digest: []byte(held.digest)})
	return l
}

func TestOneUpdateIsInFlightAndTheNewestFollows(t *testing.T) {
	tr := trackOf(catalogAt(1, rows{"a": "1"}))
	l := laneOf(tr, point{})
	l.next(0)
	for g := uint64(2); g < 6; g++ {
		tr.put(catalogAt(g, rows{"a": "1", "b": string(rune('0' + g))}))
		if d := l.next(0); d != nil {
			t.Fatalf("sent %v with one in flight", said(d))
		}
	}
	if !l.ack(pointOf(catalogAt(1, rows{"a": "1"}))) {
		t.Fatal("the ack was not taken")
	}
	d := l.next(0)
	if got := said(d); len(got) != 1 || got[0] != "b=5" || d.since.Generation != 1 {
		t.Errorf("sent %v since %v, want b=5 since 1", got, d.since)
	}
}

func TestLane(t *testing.T) {
	one, two := catalogAt(1, rows{"a": "1"}), catalogAt(2, rows{"a": "2"})
	t.Run("an ack of an earlier state moves nothing", func(t *testing.T) {
		l := laneOf(trackOf(one, two), pointOf(one))
		l.next(0)
		if l.ack(pointOf(one)); l.flying != two {
			t.Error("the update in flight was forgotten")
		}
	})
	t.Run("an ack of the same version with another digest moves nothing", func(t *testing.T) {
		l := laneOf(trackOf(two), point{})
		l.next(0)
		if l.ack(point{two.Version(), "other"}) {
			t.Error("taken")
		}
	})
	t.Run("a child that lost its state is sent it again", func(t *testing.T) {
		l := laneOf(trackOf(two), point{})
		l.next(0)
		l.ack(pointOf(two))
		l.ack(point{two.Version(), "damaged"})
		if d := l.next(0); d == nil || d.since != nil {
			t.Error("not sent the whole")
		}
	})
	t.Run("a child ahead gets nothing until it is caught up with", func(t *testing.T) {
		tr := trackOf(one)
		l := laneOf(tr, pointOf(two))
		if d := l.next(0); d != nil || !l.behind {
			t.Errorf("sent %v, behind %v", d, l.behind)
		}
		tr.put(catalogAt(3, rows{"a": "3"}))
		if d := l.next(0); d == nil || l.behind {
			t.Error("still behind")
		}
	})
	t.Run("a child that turns out to be ahead is left alone", func(t *testing.T) {
		tr := trackOf(one)
		l := laneOf(tr, point{})
		l.next(0)
		l.ack(pointOf(two))
		if d := l.next(0); d != nil || !l.behind || l.flying != nil {
			t.Errorf("sent %v, behind %v", d, l.behind)
		}
	})
	t.Run("a nacked state rests until there is other data", func(t *testing.T) {
		tr := trackOf(one)
		l := laneOf(tr, point{})
		l.next(0)
		l.nack(one.Version())
		tr.put(catalogAt(1, rows{"a": "other"}))
		if l.next(0) == nil {
			t.Error("other data of the same version was not sent")
		}
	})
	t.Run("what was nacked elsewhere is not sent", func(t *testing.T) {
		l := &lane{track: trackOf(one, two)}
		l.claim(&pb.Held{Version: one.Version(), Digest: one.Digest(), Nacked: two.Version()})
		if d := l.next(0); d != nil {
			t.Errorf("sent %v", said(d))
		}
	})
}
