package store

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// held is what a client that has head holds.
func held(h *pb.Head, above uint64) *pb.Version {
	return &pb.Version{StoreId: h.GetStoreId(), Epoch: h.GetEpoch(), Generation: h.GetGeneration() + above}
}

// claims are versions by who holds them.
type claims = map[string]*pb.Version

func claim(t *testing.T, s *Store, of int, held claims) bool {
	t.Helper()
	behind, err := s.Claim(t.Context(), ns, Claims{Held: held, Of: of})
	must(t, err)
	return behind
}

func TestRule3OneClaimChangesNothingAndTwoRefusePublishesUntilTheStoreIsAdopted(t *testing.T) {
	s := open(t)
	h, _ := publish(t, s, 0, content("one", "chat"))
	if claim(t, s, 1, claims{"cn/a": held(h, 0)}) {
		t.Fatal("who holds head is not ahead")
	}
	for _, who := range []string{"cn/a", "cn/b", "cn/a"} { // at a time
		if !claim(t, s, 1, claims{who: held(h, 3)}) {
			t.Fatal("it is behind a claim")
		}
	}
	publish(t, s, 1, content("two", "chat"))
	another := &pb.Version{StoreId: "another", Epoch: 9, Generation: 9}
	if claim(t, s, 2, claims{"cn/b": another, "cn/c": another}) || s.Regressed(ns) != nil {
		t.Fatal("a claim of another store counts")
	}
	claim(t, s, 6, claims{"cn/a": held(h, 3), "cn/b": held(h, 5), "cn/c": another})
	if r := s.Regressed(ns); r == nil || *r != (Regression{Epoch: 1, Generation: 6, By: "cn/a, cn/b"}) {
		t.Fatalf("%+v", r)
	}
	_, _, err := s.Publish(t.Context(), ns, publication(s, 2, content("three", "chat")))
	if !errors.Is(err, ErrRegressed) || !strings.Contains(err.Error(), "cn/a, cn/b") {
		t.Fatal(err)
	}
	if _, err := s.Pin(t.Context(), ns, PinChange{Revision: 1, Compose: compose(s)}); !errors.Is(err, ErrRegressed) {
		t.Fatal(err)
	}
	drain(t, s, "azure") // only adds caution
	epoch, err := s.Adopt(t.Context(), ns, "ann", "the backup is what we want")
	must(t, err)
	if epoch != 2 || s.Regressed(ns) != nil {
		t.Fatal(epoch, s.Regressed(ns))
	}
	h, _ = publish(t, s, 2, content("three", "chat"))
	if h.GetEpoch() != 2 {
		t.Fatal(h)
	}
	records := auditChain(t, s)
	if r := records[3]; r.GetVerb() != "adopt-store" || r.GetSubject() != "epoch 2" || r.GetActor() != "ann" || r.GetReason() == "" {
		t.Fatal(r)
	}
}

// Two who lie must not be able to stop all publishes.
func TestRule3AFewLiarsAmongManyRefuseNothing(t *testing.T) {
	s := open(t)
	h, _ := publish(t, s, 0, content("one", "chat"))
	liars := claims{"cn/a": held(h, 9), "cn/b": held(h, 9)}
	if !claim(t, s, 7, liars) || s.Regressed(ns) != nil {
		t.Fatalf("%+v", s.Regressed(ns))
	}
	claim(t, s, 2, liars) // they are the first who come to a replica that has just begun
	if s.Regressed(ns) == nil {
		t.Fatal("all who are there hold more")
	}
	claim(t, s, 7, liars) // the others have come
	if r := s.Regressed(ns); r != nil {
		t.Fatalf("%+v", r)
	}
	publish(t, s, 1, content("two", "chat"))
}

// No liar may use up the epochs: adopting a store would have none left to go to.
func TestRule3AnEpochThatCannotBeIsNoClaim(t *testing.T) {
	s := open(t)
	h, _ := publish(t, s, 0, content("one", "chat"))
	v := held(h, 0)
	v.Epoch = math.MaxUint64
	if claim(t, s, 2, claims{"cn/a": v, "cn/b": v}) || s.Regressed(ns) != nil {
		t.Fatalf("%+v", s.Regressed(ns))
	}
	if epoch, err := s.Adopt(t.Context(), ns, "ann", "r"); epoch != 2 || err != nil {
		t.Fatal(epoch, err)
	}
}

func TestRule3AClaimThatHeadHasReachedCountsNoMore(t *testing.T) {
	s := open(t)
	h, _ := publish(t, s, 0, content("one", "chat"))
	claim(t, s, 2, claims{"cn/a": held(h, 1), "cn/b": held(h, 2)})
	s.behind.settle(keys(root+ns+"/"), &pb.Head{StoreId: h.GetStoreId(), Epoch: h.GetEpoch(), Generation: h.GetGeneration() + 2})
	if r := s.Regressed(ns); r != nil {
		t.Fatalf("%+v", r)
	}
	publishMany(t, s, 1, 2) // to generation 3
	if claim(t, s, 2, claims{"cn/a": held(h, 1), "cn/b": held(h, 9)}); s.Regressed(ns) != nil {
		t.Fatalf("%+v", s.Regressed(ns))
	}
}

func TestAdoptingGoesAboveTheEpochThatIsHeld(t *testing.T) {
	s := open(t)
	h, _ := publish(t, s, 0, content("one", "chat"))
	v := held(h, 0)
	v.Epoch = 7
	claim(t, s, 2, claims{"cn/a": v, "cn/b": v})
	if epoch, err := s.Adopt(t.Context(), ns, "ann", "r"); epoch != 8 || err != nil {
		t.Fatal(epoch, err)
	}
}

// Scenario 47: etcd is restored from an older backup under a live replica.
func TestABackupRestoredUnderALiveReplicaIsRefusedUntilItIsAdopted(t *testing.T) {
	t.Parallel()
	e := startExternal(t)
	s := e.dial(t)
	publish(t, s, 0, content("one", "chat"))
	e.stop()
	backup := filepath.Join(t.TempDir(), "etcd")
	copyDir(t, filepath.Join(e.dir, "etcd"), backup)
	e.start(t)
	publish(t, s, 1, content("two", "chat"))
	s.opTimeout = 2 * time.Second
	w := watch(t, s)
	w.until(t, 2)

	e.stop()
	must(t, os.RemoveAll(filepath.Join(e.dir, "etcd")))
	copyDir(t, backup, filepath.Join(e.dir, "etcd"))
	e.start(t)
	w.heard(t, func(err error) bool { return errors.Is(err, ErrRegressed) })
	if len(w.states) != 0 {
		t.Fatal("the old head was delivered")
	}
	if r := s.Regressed(ns); r == nil || r.Generation != 2 {
		t.Fatalf("%+v", r)
	}
	if _, _, err := s.Publish(t.Context(), ns, publication(s, 1, content("three", "chat"))); !errors.Is(err, ErrRegressed) {
		t.Fatal(err)
	}
	if _, err := s.Adopt(context.Background(), ns, "ann", "r"); err != nil {
		t.Fatal(err)
	}
	st := take(t, w.states, "the adopted head")
	if st.Head.GetEpoch() != 2 || st.Head.GetPublished() != 1 {
		t.Fatal(st.Head)
	}
	publish(t, s, 1, content("three", "chat"))
}

func TestAnEtcdThatWasEmptiedUnderALiveReplicaIsNotServed(t *testing.T) {
	t.Parallel()
	e := startExternal(t)
	s := e.dial(t)
	publish(t, s, 0, content("one", "chat"))
	s.opTimeout = 2 * time.Second
	w := watch(t, s)
	w.until(t, 1)
	e.stop()
	must(t, os.RemoveAll(filepath.Join(e.dir, "etcd")))
	e.start(t)
	w.heard(t, func(err error) bool { return err != nil && strings.Contains(err.Error(), "no longer store") })
	if len(w.states) != 0 {
		t.Fatal("an empty store was delivered")
	}
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	}))
}
