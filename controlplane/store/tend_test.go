package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func publishMany(t *testing.T, s *Store, from uint64, n int) {
	t.Helper()
	for i := range uint64(n) {
		publish(t, s, from+i, content(fmt.Sprint("revision ", from+i+1), "chat", "search"))
	}
}

func revisions(t *testing.T, s *Store) []uint64 {
	t.Helper()
	all, err := s.History(t.Context(), ns, 0, maxHistory)
	if err != nil {
		t.Fatal(err)
	}
	var out []uint64
	for _, r := range all {
		out = append(out, r.GetRevision())
	}
	return out
}

func tend(t *testing.T, s *Store, tenure *Tenure, keep Keep) {
	t.Helper()
	if err := s.Tend(t.Context(), ns, tenure, keep); err != nil {
		t.Fatal(err)
	}
}

func TestRevisionsAboveFiftyGoButForThoseThatSomethingNames(t *testing.T) {
	s := open(t)
	tenure := leads(t, s, "a")
	publishMany(t, s, 0, 5)
	if err := s.Tag(t.Context(), ns, "good", 2, "ann"); err != nil {
		t.Fatal(err)
	}
	pin(t, s, "chat", 3) // composes 6
	pin(t, s, "", 4)
	for range 60 { // each composes another one
		h, err := s.Head(t.Context(), ns)
		if err != nil {
			t.Fatal(err)
		}
		publish(t, s, h.GetPublished(), content(fmt.Sprint("after ", h.GetPublished()), "chat", "search"))
	}
	tend(t, s, tenure, Keep{Running: []uint64{5}})
	got := revisions(t, s)
	if old := got[keptRevisions:]; !cmp.Equal([]uint64{5, 4, 3, 2}, old) {
		t.Fatalf("besides the newest %d: %v", keptRevisions, old)
	}
	for _, n := range got {
		if _, _, err := s.Revision(t.Context(), ns, n); err != nil {
			t.Fatal(err)
		}
	}
	chunks, err := s.client.Get(t.Context(), keys(root+ns+"/").allChunks(), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || chunks.Count != int64(len(got)) {
		t.Fatalf("%d chunks for %d revisions: %v", chunks.Count, len(got), err)
	}
	unpin(t, s, "chat")
	unpin(t, s, "")
	pin(t, s, "chat", 3)
}

// between runs once, before the first transaction that deletes.
type between struct {
	clientv3.KV
	act func()
}

func (b *between) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	_, ops, _ := op.Txn()
	if act := b.act; act != nil && len(ops) > 0 && ops[0].IsDelete() {
		b.act = nil
		act()
	}
	return b.KV.Do(ctx, op)
}

func TestARevisionThatIsNamedWhileItIsCollectedStays(t *testing.T) {
	for name, keep := range map[string]func(t *testing.T, s *Store){
		"by a tag": func(t *testing.T, s *Store) {
			if err := s.Tag(t.Context(), ns, "good", 1, "ann"); err != nil {
				t.Fatal(err)
			}
		},
		"by a pin": func(t *testing.T, s *Store) { pin(t, s, "", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			e := startExternal(t)
			s, other := e.dial(t), e.dial(t)
			tenure := leads(t, s, "a")
			publishMany(t, s, 0, keptRevisions+3)
			s.client.KV = &between{KV: s.client.KV, act: func() { keep(t, other) }}
			tend(t, s, tenure, Keep{})
			if n := len(revisions(t, s)); n != keptRevisions+3 {
				t.Fatalf("%d revisions left", n)
			}
			tend(t, s, tenure, Keep{}) // the next pass looks anew
			got := revisions(t, s)
			if len(got) != keptRevisions+1 || got[keptRevisions] != 1 {
				t.Fatal(got)
			}
		})
	}
}

// Scenario 55: a publisher pauses between its check and its write, others publish and collect,
// and it goes on.
func TestAPublisherThatPausedIsAConflictAndNothingThatServesIsCollected(t *testing.T) {
	e := startExternal(t)
	slow, fast := e.dial(t), e.dial(t)
	tenure := leads(t, fast, "a")
	publish(t, slow, 0, content("first", "chat"))
	pin(t, fast, "", 1)
	paused, resumed := make(chan struct{}), make(chan struct{})
	slow.client.KV = &committing{KV: slow.client.KV, pause: func() {
		close(paused)
		<-resumed
	}}
	done := make(chan error, 1)
	go func() {
		_, _, err := slow.Publish(t.Context(), ns, publication(slow, 1, content("old plan", "chat")))
		done <- err
	}()
	take(t, paused, "the pause")
	publishMany(t, fast, 1, keptRevisions+10)
	for range 2 {
		tend(t, fast, tenure, Keep{Now: time.Now().Add(2 * orphanAge)})
	}
	close(resumed)
	var conflict *ConflictError
	if err := take(t, done, "the answer"); !errors.As(err, &conflict) {
		t.Fatal(err)
	}
	h, err := fast.Head(t.Context(), ns)
	if err != nil {
		t.Fatal(err)
	}
	wantHead(t, h, fmt.Sprintf("generation %d published %d serving 1 pin 1", keptRevisions+12, keptRevisions+11))
	wantServed(t, fast, h, content("first", "chat"))
	unpin(t, fast, "")
	publish(t, slow, h.GetPublished(), content("repaired", "chat")) // it is not stuck
}

// committing pauses before the first transaction that publishes.
type committing struct {
	clientv3.KV
	pause func()
}

func (c *committing) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if when, _, _ := op.Txn(); len(when) > 0 && c.pause != nil {
		c.pause()
		c.pause = nil
	}
	return c.KV.Do(ctx, op)
}

func TestOnePassTakesABoundedPart(t *testing.T) {
	s := open(t)
	tenure := leads(t, s, "a")
	k := keys(root + ns + "/")
	for i := range collectedPass + 10 {
		if _, err := s.client.Put(t.Context(), k.chunk(fmt.Sprintf("%010x-%016x", 1, i), 0), "x"); err != nil {
			t.Fatal(err)
		}
	}
	for _, left := range []int64{10, 0} {
		tend(t, s, tenure, Keep{})
		got, err := s.client.Get(t.Context(), k.allChunks(), clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil || got.Count != left {
			t.Fatalf("%d left, want %d: %v", got.Count, left, err)
		}
	}
}

func TestWhoDoesNotLeadTendsNothing(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	c := campaign(t, s, "a")
	tenure := take(t, c.tenures, "a tenure")
	c.stop()
	short := &pb.Override{Endpoint: "azure", DurationUs: 1, What: &pb.Override_Drain{Drain: &pb.Drain{}}}
	if _, err := s.SetOverride(t.Context(), ns, short, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Tend(t.Context(), ns, tenure, Keep{Now: time.Now().Add(time.Hour)}); !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
	if n := overrides(t, s); n != 1 {
		t.Fatalf("%d overrides", n)
	}
}
