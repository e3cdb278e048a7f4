package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestANamespaceNeverPublishedHasGenerationZero(t *testing.T) {
	s := open(t)
	h, err := s.Head(t.Context(), ns)
	if err != nil {
		t.Fatal(err)
	}
	wantHead(t, h, "generation 0 published 0 serving 0 pin 0")
}

func TestAPublishedRevisionIsServedAndComesBackAsItWas(t *testing.T) {
	s := open(t)
	want := content("one", "chat", "search")
	h, n := publish(t, s, 0, want)
	wantHead(t, h, "generation 1 published 1 serving 1 pin 0")
	wantServed(t, s, h, want)
	info, _, err := s.Revision(t.Context(), ns, n)
	if err != nil {
		t.Fatal(err)
	}
	info.Time = nil
	if diff := cmp.Diff(&pb.RevisionInfo{Revision: 1, Author: "ann", Message: "m"}, info, protocmp.Transform()); diff != "" {
		t.Fatal(diff)
	}
	if _, _, err := s.Revision(t.Context(), ns, 2); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

func TestAPublishOnAnotherRevisionIsAConflict(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	publish(t, s, 1, content("two", "chat"))
	_, _, err := s.Publish(t.Context(), ns, publication(s, 1, content("three", "chat")))
	var conflict *ConflictError
	if !errors.As(err, &conflict) || *conflict != (ConflictError{Base: 1, Published: 2}) {
		t.Fatalf("%v", err)
	}
}

func TestAnOverrideSetMeanwhileIsNoConflict(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	drain(t, s, "azure")
	h, _ := publish(t, s, 1, content("two", "chat"))
	wantHead(t, h, "generation 3 published 2 serving 2 pin 0")
}

func TestOfPublishersOnOneBaseExactlyOneWins(t *testing.T) {
	s := open(t)
	for base := range uint64(3) {
		won := 0
		for _, err := range concurrently(8, func(i int) error {
			_, _, err := s.Publish(t.Context(), ns, publication(s, base, content(fmt.Sprint(base, i), "chat")))
			return err
		}) {
			var conflict *ConflictError
			if err == nil {
				won++
			} else if !errors.As(err, &conflict) {
				t.Fatal(err)
			}
		}
		if won != 1 {
			t.Fatalf("base %d: %d won", base, won)
		}
	}
}

func TestPublishersOnAnyBaseAllWinAndNothingIsLost(t *testing.T) {
	s := open(t)
	const n = 12
	for _, err := range concurrently(n, func(i int) error {
		if i%3 == 0 {
			_, err := s.SetOverride(t.Context(), ns, drainOf(fmt.Sprint("e", i)), nil)
			return err
		}
		p := publication(s, 0, content(fmt.Sprint(i), "chat"))
		p.AnyBase = true
		_, _, err := s.Publish(t.Context(), ns, p)
		return err
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	h, err := s.Head(t.Context(), ns)
	if err != nil {
		t.Fatal(err)
	}
	wantHead(t, h, "generation 12 published 8 serving 8 pin 0")
	revisions, err := s.History(t.Context(), ns, 0, 0)
	if err != nil || len(revisions) != 8 {
		t.Fatalf("%d revisions: %v", len(revisions), err)
	}
	for i, r := range revisions {
		if want := uint64(8 - i); r.GetRevision() != want || r.GetParent() != want-1 {
			t.Fatalf("revision %d with parent %d, want %d", r.GetRevision(), r.GetParent(), want)
		}
	}
	if got := len(auditChain(t, s)); got != n {
		t.Fatalf("%d audit records", got)
	}
}

func concurrently(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errs
}

func TestTheAuditIsAChainOfWhatPeopleDid(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	if err := s.Tag(t.Context(), ns, "good", 1, "ann"); err != nil {
		t.Fatal(err)
	}
	drain(t, s, "azure")
	pin(t, s, "", 1)
	unpin(t, s, "")
	var got []string
	for _, r := range auditChain(t, s) {
		got = append(got, fmt.Sprintf("%d %s %s %q %d: generation %d", r.GetNumber(), r.GetActor(), r.GetVerb(), r.GetSubject(), r.GetRevision(), r.GetGeneration()))
	}
	want := []string{
		`1 ann publish "" 1: generation 1`,
		`2 ann tag "good" 1: generation 1`,
		`3 ann drain "azure" 0: generation 2`,
		`4 ann pin "" 1: generation 3`,
		`5 ann unpin "" 1: generation 4`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// auditChain reads all records and checks that each holds the hash of the one before.
func auditChain(t *testing.T, s *Store) []*pb.AuditRecord {
	t.Helper()
	got, err := s.client.Get(t.Context(), keys(root+ns+"/").audits(), clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	var out []*pb.AuditRecord
	var hash []byte
	for i, kv := range got.Kvs {
		r := &pb.AuditRecord{}
		if err := proto.Unmarshal(kv.Value, r); err != nil {
			t.Fatal(err)
		}
		if r.GetNumber() != uint64(i+1) || string(r.GetPreviousHash()) != string(hash) {
			t.Fatalf("record %d is number %d, previous hash %x, want %x", i+1, r.GetNumber(), r.GetPreviousHash(), hash)
		}
		sum := sha256.Sum256(kv.Value)
		hash = sum[:]
		out = append(out, r)
	}
	return out
}

func TestALargeCatalogIsKeptInChunksBelowEtcdsLimit(t *testing.T) {
	s := open(t)
	body := make([]byte, 2<<20)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(body) // never fails
	want := &pb.StoredContent{Resources: []*pb.Resource{{Kind: pb.Kind_KIND_MODEL, Name: "m", Body: body}}}
	_, n := publish(t, s, 0, want)
	_, back, err := s.Revision(t.Context(), ns, n)
	if err != nil || !proto.Equal(want, back) {
		t.Fatalf("it came back otherwise: %v", err)
	}
	got, err := s.client.Get(t.Context(), keys(root+ns+"/").allChunks(), clientv3.WithPrefix())
	if err != nil || got.Count != 5 {
		t.Fatalf("%d chunks: %v", got.Count, err)
	}
	for _, kv := range got.Kvs {
		if len(kv.Value) > chunkSize {
			t.Fatalf("chunk %s of %d bytes", kv.Key, len(kv.Value))
		}
	}
}

func TestACatalogTooLargeIsRefusedWithItsSize(t *testing.T) {
	s := open(t)
	c := &pb.StoredContent{Resources: []*pb.Resource{{Body: make([]byte, maxContent)}}}
	_, _, err := s.Publish(t.Context(), ns, publication(s, 0, c))
	var size *SizeError
	if !errors.As(err, &size) || size.Limit != maxContent {
		t.Fatal(err)
	}
}

func TestARevisionThatWasTamperedWithIsNotServed(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	other, err := pack(content("two", "chat"), t0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.client.Get(t.Context(), keys(root+ns+"/").allChunks(), clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Put(t.Context(), string(got.Kvs[0].Key), string(other.chunks[0])); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Revision(t.Context(), ns, 1); err == nil {
		t.Fatal("it was read")
	}
}

// lossy applies the first conditional transaction and loses its answer.
type lossy struct {
	clientv3.KV
	lost bool
}

func (l *lossy) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	got, err := l.KV.Do(ctx, op)
	if when, _, _ := op.Txn(); len(when) > 0 && !l.lost {
		l.lost = true
		return clientv3.OpResponse{}, context.DeadlineExceeded
	}
	return got, err
}

func TestAPublishWhoseAnswerWasLostIsNotDoneTwice(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	s.client.KV = &lossy{KV: s.client.KV}
	h, n := publish(t, s, 1, content("two", "chat"))
	wantHead(t, h, "generation 2 published 2 serving 2 pin 0")
	if n != 2 || len(auditChain(t, s)) != 2 {
		t.Fatalf("revision %d, %d records", n, len(auditChain(t, s)))
	}
}

func TestTagsNameRevisionsUntilTheyAreTakenAway(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	publish(t, s, 1, content("two", "chat"))
	for _, name := range []string{"good", "v1.2"} {
		if err := s.Tag(t.Context(), ns, name, 1, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Tag(t.Context(), ns, "bad", 9, "ann"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	history, err := s.History(t.Context(), ns, 2, 1)
	if err != nil || len(history) != 1 {
		t.Fatal(history, err)
	}
	if diff := cmp.Diff([]string{"good", "v1.2"}, history[0].GetTags()); diff != "" {
		t.Fatal(diff)
	}
	if n, err := s.ResolveTag(t.Context(), ns, "good"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	for _, want := range []error{nil, ErrNotFound} {
		if err := s.Tag(t.Context(), ns, "good", 0, "ann"); !errors.Is(err, want) {
			t.Fatalf("untag: %v, want %v", err, want)
		}
	}
	if _, err := s.ResolveTag(t.Context(), ns, "good"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}
