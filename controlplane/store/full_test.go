package store

import (
	"bytes"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestAFullEtcdSaysSoAndDeletesStillRun(t *testing.T) {
	e := startExternalWith(t, func(c *embed.Config) { c.QuotaBackendBytes = 16 << 20 })
	s := e.dial(t)
	publish(t, s, 0, content("one", "chat"))
	k := keys(root + ns + "/")
	orphan, err := pack(content("lost", "chat"), t0)
	must(t, err)
	must(t, s.writeChunks(t.Context(), k, orphan))
	tenure := leads(t, s, "a")
	fill(t, s)
	if _, _, err := s.Publish(t.Context(), ns, publication(s, 1, content("two", "chat"))); !errors.Is(err, ErrNoSpace) {
		t.Fatal(err)
	}
	tend(t, s, tenure, Keep{Now: t0.Add(2 * orphanAge)})
	got, err := s.client.Get(t.Context(), k.chunks(orphan.id), clientv3.WithPrefix())
	if err != nil || got.Count != 0 {
		t.Fatalf("%d chunks left: %v", got.Count, err)
	}
	if err := appendOne(t, s, tenure, "late"); !errors.Is(err, ErrNoSpace) || !tenure.Holds() {
		t.Fatal(err)
	}
	wantFinding(t, s, pb.Severity_SEVERITY_ERROR, "etcd is full")
}

// fill writes until etcd takes no more.
func fill(t *testing.T, s *Store) {
	t.Helper()
	much := string(bytes.Repeat([]byte("x"), 1<<20))
	for range 100 {
		if _, err := s.client.Put(t.Context(), "/junk", much); err != nil {
			if !errors.Is(classify("fill", err), ErrNoSpace) {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("it takes all")
}

func TestAFullEmbeddedMemberGetsItsSpaceBackBeforeAnybodyLeads(t *testing.T) {
	dir := t.TempDir()
	c := memberConfig(dir)
	c.QuotaBackendBytes = 16 << 20
	m, err := startMember(t.Context(), dir, c)
	must(t, err)
	s := &Store{member: m, client: m.client(), renew: m.renew, now: time.Now, opTimeout: 10 * time.Second, confirmEvery: confirmEvery, pace: lasting}
	t.Cleanup(func() { s.Close() })
	publish(t, s, 0, content("one", "chat"))
	fill(t, s)
	if _, _, err := s.Publish(t.Context(), ns, publication(s, 1, content("two", "chat"))); !errors.Is(err, ErrNoSpace) {
		t.Fatal(err)
	}
	leads(t, s, "a")
	publish(t, s, 1, content("two", "chat"))
}
