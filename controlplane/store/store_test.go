package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const ns = "default"

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// etcd's own, one for the process or ending a moment after Close.
		goleak.IgnoreTopFunction("go.etcd.io/etcd/client/pkg/v3/logutil.(*MergeLogger).outputLoop"),
		goleak.IgnoreAnyFunction("go.etcd.io/etcd/pkg/v3/wait.(*list).Wait"),
		// Between members of a cluster; nothing of ours speaks HTTP.
		goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
		goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	)
}

func open(t *testing.T) *Store {
	t.Helper()
	return reopen(t, t.TempDir())
}

func reopen(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.opTimeout, s.pace = 10*time.Second, lasting
	return s
}

// content holds one resource for each workload named, with the same text as its body.
func content(text string, workloads ...string) *pb.StoredContent {
	c := &pb.StoredContent{Sources: &pb.Sources{Files: []*pb.SourceFile{{Name: "a.hcl", Content: []byte(text)}}}}
	for _, w := range workloads {
		c.Resources = append(c.Resources, &pb.Resource{Kind: pb.Kind_KIND_WORKLOAD, Name: w, Body: []byte(text)})
	}
	return c
}

func publish(t *testing.T, s *Store, base uint64, c *pb.StoredContent) (*pb.Head, uint64) {
	t.Helper()
	h, n, err := s.Publish(t.Context(), ns, publication(s, base, c))
	if err != nil {
		t.Fatal(err)
	}
	return h, n
}

func publication(s *Store, base uint64, c *pb.StoredContent) Publication {
	return Publication{Content: c, Base: base, Actor: "ann", Compose: compose(s), Info: &pb.RevisionInfo{Author: "ann", Message: "m"}}
}

// compose takes each pinned workload's resource from its revision.
func compose(s *Store) Compose {
	return func(ctx context.Context, pins []*pb.WorkloadPin, published *pb.StoredContent) (*Composition, error) {
		out := proto.CloneOf(published)
		for _, p := range pins {
			_, old, err := s.Revision(ctx, ns, p.GetRevision())
			if err != nil {
				return nil, err
			}
			for i, r := range out.GetResources() {
				if r.GetName() == p.GetWorkload() {
					out.Resources[i] = old.GetResources()[i]
				}
			}
		}
		return &Composition{Content: out, Digest: []byte("d")}, nil
	}
}

// brief is what matters of a head.
func brief(h *pb.Head) string {
	out := fmt.Sprintf("generation %d published %d serving %d pin %d", h.GetGeneration(), h.GetPublished(), h.GetServing(), h.GetPin())
	if len(h.GetPins()) > 0 {
		out += " " + pinsText(h.GetPins())
	}
	return out
}

func wantHead(t *testing.T, got *pb.Head, want string) {
	t.Helper()
	if diff := cmp.Diff(want, brief(got)); diff != "" {
		t.Fatalf("head (-want +got):\n%s", diff)
	}
}

func wantServed(t *testing.T, s *Store, h *pb.Head, want *pb.StoredContent) {
	t.Helper()
	_, got, err := s.Revision(t.Context(), ns, h.GetServing())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Fatalf("served (-want +got):\n%s", diff)
	}
}

func TestConfigSaysWhereEtcdIsOnceOnly(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		ok     bool
	}{
		"neither":   {Config{}, false},
		"both":      {Config{Endpoints: []string{"a:1"}, DataDir: "d"}, false},
		"endpoints": {Config{Endpoints: []string{"a:1"}}, true},
		"data":      {Config{DataDir: "d"}, true},
	} {
		if err := c.config.Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesThatWouldReachOutsideANamespaceAreRefused(t *testing.T) {
	s := open(t)
	for _, name := range []string{"", "meta", "token", "elect", "a/b", "..", "A", "-a", "a\x00"} {
		if _, err := s.Head(t.Context(), name); !errors.Is(err, ErrInvalid) {
			t.Errorf("namespace %q: %v", name, err)
		}
	}
	for _, name := range []string{"", "a/b", "../head", "é"} {
		if err := s.Tag(t.Context(), ns, name, 1, "ann"); !errors.Is(err, ErrInvalid) {
			t.Errorf("tag %q: %v", name, err)
		}
		o := &pb.Override{Endpoint: name, What: &pb.Override_Drain{Drain: &pb.Drain{}}}
		if _, err := s.SetOverride(t.Context(), ns, o, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("override of %q: %v", name, err)
		}
	}
}

func TestATagIsNoNumber(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	if err := s.Tag(t.Context(), ns, "12", 1, "ann"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "taken for a revision's number") {
		t.Fatal(err)
	}
}

func TestASecondProcessIsToldThatTheDirectoryIsInUse(t *testing.T) {
	dir := t.TempDir()
	reopen(t, dir)
	_, err := Open(t.Context(), Config{DataDir: dir})
	if want := "data directory " + dir + " is in use by another process"; err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

func TestTheDataDirectoryIsClosedToOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	reopen(t, dir)
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Fatalf("mode %o", info.Mode().Perm())
	}
}

func TestAStoreIsTheSameAfterARestart(t *testing.T) {
	dir := t.TempDir()
	s := reopen(t, dir)
	before, _ := publish(t, s, 0, content("one", "chat"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, dir)
	after, err := s.Head(t.Context(), ns)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after, protocmp.Transform()); diff != "" {
		t.Fatalf("head (-before +after):\n%s", diff)
	}
	if before.GetStoreId() == "" || before.GetEpoch() != 1 {
		t.Fatalf("store %q, epoch %d", before.GetStoreId(), before.GetEpoch())
	}
}

func TestAnEtcdThatDoesNotAnswerIsUnavailable(t *testing.T) {
	s, err := Open(t.Context(), Config{Endpoints: []string{"unix://" + filepath.Join(t.TempDir(), "none.sock")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.opTimeout = 100 * time.Millisecond
	if _, err := s.Head(t.Context(), ns); !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
}
