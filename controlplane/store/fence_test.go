package store

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func appendOne(t *testing.T, s *Store, tenure *Tenure, name string) error {
	t.Helper()
	return s.AppendEvents(t.Context(), ns, tenure, []*pb.FleetEvent{{Kind: "opened", Endpoint: name}})
}

// wantEvents checks whose events are visible.
func wantEvents(t *testing.T, s *Store, want ...string) {
	t.Helper()
	got, err := s.Events(t.Context(), ns, EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d: %v", len(got), len(want), got)
	}
	for i, e := range got {
		if e.GetEndpoint() != want[i] || e.GetNumber() != uint64(i+1) {
			t.Errorf("event %d is %q, number %d, want %q", i+1, e.GetEndpoint(), e.GetNumber(), want[i])
		}
	}
}

// Scenario 51: a leader that was frozen wakes in the middle of what it did.
func TestALeaderThatWasFrozenFindsByItsClockThatItLost(t *testing.T) {
	a, b := pair(t, lasting)
	var skipped atomic.Int64
	a.now = func() time.Time { return time.Now().Add(time.Duration(skipped.Load())) }
	frozen := make(chan struct{})
	a.renew = func(ctx context.Context, _ clientv3.LeaseID) (int64, error) {
		<-frozen
		return 3600, nil // of a request from before
	}
	old := leads(t, a, "a")
	if err := appendOne(t, a, old, "first"); err != nil || !old.Holds() {
		t.Fatal(err)
	}
	if _, err := b.client.Revoke(t.Context(), old.lease); err != nil { // as time would
		t.Fatal(err)
	}
	new := leads(t, b, "b")
	if err := appendOne(t, b, new, "second"); err != nil {
		t.Fatal(err)
	}
	skipped.Store(int64(time.Hour)) // it wakes
	if old.Holds() {
		t.Fatal("it holds")
	}
	if err := appendOne(t, a, old, "late"); !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
	close(frozen) // the answer of then changes nothing
	if err := appendOne(t, a, old, "later"); !errors.Is(err, ErrLost) || old.Holds() {
		t.Fatal(err)
	}
	wantEvents(t, b, "first", "second")
}

// Scenarios 51 and 53: its clock says nothing, as when etcd revoked its lease: the transaction does.
func TestNoWriteOfAFormerLeaderIsVisible(t *testing.T) {
	a, b := pair(t, lasting)
	publish(t, a, 0, content("one", "chat"))
	short := drainOf("azure")
	short.DurationUs = time.Minute.Microseconds()
	if _, err := a.SetOverride(t.Context(), ns, short, nil); err != nil {
		t.Fatal(err)
	}
	a.renew = func(ctx context.Context, _ clientv3.LeaseID) (int64, error) { return 3600, nil }
	old := leads(t, a, "a")
	if _, err := b.client.Revoke(t.Context(), old.lease); err != nil {
		t.Fatal(err)
	}
	new := leads(t, b, "b")
	if !old.Holds() {
		t.Fatal("its clock knows: this test shows nothing")
	}
	unlost := *old.sent.Load()
	for name, write := range map[string]func() error{
		"events": func() error { return appendOne(t, a, old, "late") },
		"tend":   func() error { return a.Tend(t.Context(), ns, old, Keep{Now: time.Now().Add(time.Hour)}) },
	} {
		old.lost.Store(false) // it learns it anew each time
		old.renewed(unlost)
		if err := write(); !errors.Is(err, ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
		if old.Holds() {
			t.Errorf("%s: it was told and holds", name)
		}
	}
	if n := overrides(t, b); n != 1 {
		t.Fatalf("%d overrides", n)
	}
	if err := appendOne(t, b, new, "mine"); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, b, "mine")
}
