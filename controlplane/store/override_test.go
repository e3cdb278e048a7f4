package store

import (
	"errors"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

var t0 = time.Now()

func drainOf(endpoint string) *pb.Override {
	return &pb.Override{Endpoint: endpoint, Actor: "ann", What: &pb.Override_Drain{Drain: &pb.Drain{}}}
}

func drain(t *testing.T, s *Store, endpoint string) *pb.Head {
	t.Helper()
	h, err := s.SetOverride(t.Context(), ns, drainOf(endpoint), nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func overrides(t *testing.T, s *Store) int {
	t.Helper()
	all, err := s.Overrides(t.Context(), ns)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestAnOverrideIsOnePerKindAndEndpoint(t *testing.T) {
	s := open(t)
	drain(t, s, "azure")
	drain(t, s, "azure")
	if _, err := s.SetOverride(t.Context(), ns, &pb.Override{Endpoint: "azure", What: &pb.Override_Weight{Weight: 0}}, nil); err != nil {
		t.Fatal(err)
	}
	if n := overrides(t, s); n != 2 {
		t.Fatalf("%d overrides", n)
	}
	h, err := s.RemoveOverride(t.Context(), ns, Removal{Kind: Drain, Endpoint: "azure", Actor: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	wantHead(t, h, "generation 4 published 0 serving 0 pin 0")
	if _, err := s.RemoveOverride(t.Context(), ns, Removal{Kind: Drain, Endpoint: "azure"}); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

func TestTheAuditSaysWhatAnOverrideDoes(t *testing.T) {
	s := open(t)
	for _, o := range []*pb.Override{
		drainOf("azure"), {Endpoint: "azure", What: &pb.Override_Weight{Weight: 30}},
		{Endpoint: "azure", What: &pb.Override_Breaker{Breaker: &pb.ForcedBreaker{Open: true}}},
		{Endpoint: "azure", What: &pb.Override_Breaker{Breaker: &pb.ForcedBreaker{}}},
	} {
		if _, err := s.SetOverride(t.Context(), ns, o, nil); err != nil {
			t.Fatal(err)
		}
	}
	var verbs []string
	for _, r := range auditChain(t, s) {
		verbs = append(verbs, r.GetVerb())
	}
	if want := []string{"drain", "weight 30", "breaker open", "breaker closed"}; !slices.Equal(verbs, want) {
		t.Errorf("%q, want %q", verbs, want)
	}
}

func TestAnOverrideIsOfAnEndpointOrOfOneInstance(t *testing.T) {
	s := open(t)
	for _, name := range []string{"azure@10.0.0.1:80", "azure@[fd00::1]:8000", "azure@vllm-0.vllm:8000"} {
		drain(t, s, name)
		if _, err := s.RemoveOverride(t.Context(), ns, Removal{Kind: Drain, Endpoint: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "azure@", "@10.0.0.1:80", "azure@a/b:80", "azure@a b:80", "azure@a:80@b:80"} {
		if _, err := s.SetOverride(t.Context(), ns, drainOf(name), nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAnOverrideThatRanOutIsDeletedAndAudited(t *testing.T) {
	s := open(t)
	short := drainOf("azure")
	short.DurationUs = time.Minute.Microseconds()
	if _, err := s.SetOverride(t.Context(), ns, short, nil); err != nil {
		t.Fatal(err)
	}
	drain(t, s, "openai")
	leading := leads(t, s, "a")
	for _, step := range []struct {
		after time.Duration
		left  int
	}{{0, 2}, {2 * time.Minute, 1}} {
		if err := s.Tend(t.Context(), ns, leading, Keep{Now: time.Now().Add(step.after)}); err != nil {
			t.Fatal(err)
		}
		if n := overrides(t, s); n != step.left {
			t.Fatalf("after %v: %d overrides, want %d", step.after, n, step.left)
		}
	}
	records := auditChain(t, s)
	last := records[len(records)-1]
	if last.GetVerb() != "undrain" || last.GetActor() != "pointsman" || last.GetGeneration() != 3 {
		t.Fatal(last)
	}
}

func TestChunksThatNoRevisionNamesGoAfterAnHour(t *testing.T) {
	s := open(t)
	want := content("one", "chat")
	h, _ := publish(t, s, 0, want)
	k := keys(root + ns + "/")
	orphan, err := pack(content("lost", "chat"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.writeChunks(t.Context(), k, orphan); err != nil {
		t.Fatal(err)
	}
	leading := leads(t, s, "a")
	for _, step := range []struct {
		after time.Duration
		left  int64
	}{{time.Minute, 2}, {orphanAge + time.Minute, 1}} {
		if err := s.Tend(t.Context(), ns, leading, Keep{Now: time.Now().Add(step.after)}); err != nil {
			t.Fatal(err)
		}
		got, err := s.client.Get(t.Context(), k.allChunks(), clientv3.WithPrefix())
		if err != nil || got.Count != step.left {
			t.Fatalf("after %v: %d chunks, want %d: %v", step.after, got.Count, step.left, err)
		}
	}
	wantServed(t, s, h, want)
}

func TestAPublishWhoseChunksWereSweptIsNotCommitted(t *testing.T) {
	s := open(t)
	k := keys(root + ns + "/")
	p, err := pack(content("one", "chat"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.ground(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	a := newAct(g, &pb.AuditRecord{Verb: "publish"})
	if err := a.add(k, &pb.RevisionInfo{Revision: 1}, p); err != nil {
		t.Fatal(err)
	}
	if done, err := s.write(t.Context(), k, g, a); done || err != nil {
		t.Fatal(done, err)
	}
}

func TestAnOverrideIsAllowedBesideThoseThatAreStored(t *testing.T) {
	s := open(t)
	refused := errors.New("one is enough")
	one := func(stored []*pb.StoredOverride) error {
		if len(stored) > 0 {
			return refused
		}
		return nil
	}
	if _, err := s.SetOverride(t.Context(), ns, drainOf("a"), one); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetOverride(t.Context(), ns, drainOf("b"), one); !errors.Is(err, refused) {
		t.Fatal(err)
	}
}
