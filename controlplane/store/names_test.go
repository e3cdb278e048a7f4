package store

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// hostile are names that would reach outside a namespace, or into the store's own keys.
var hostile = []string{
	"", "..", "../other", "a/b", "/", "default/", "\x00", "a\x00", "meta", "token", "role", "revoked", "elect", "Default", "-a", "é",
	"default/head\x00", strings.Repeat("a", 64),
}

// inNamespaces are all methods that take a namespace.
func inNamespaces(s *Store) map[string]func(ctx context.Context, ns string) error {
	tenure := &Tenure{}
	return map[string]func(ctx context.Context, ns string) error{
		"Head":       func(ctx context.Context, ns string) error { _, err := s.Head(ctx, ns); return err },
		"Revision":   func(ctx context.Context, ns string) error { _, _, err := s.Revision(ctx, ns, 1); return err },
		"History":    func(ctx context.Context, ns string) error { _, err := s.History(ctx, ns, 0, 0); return err },
		"Tag":        func(ctx context.Context, ns string) error { return s.Tag(ctx, ns, "good", 1, "ann") },
		"ResolveTag": func(ctx context.Context, ns string) error { _, err := s.ResolveTag(ctx, ns, "good"); return err },
		"Publish": func(ctx context.Context, ns string) error {
			_, _, err := s.Publish(ctx, ns, publication(s, 0, content("x", "w")))
			return err
		},
		"Pin": func(ctx context.Context, ns string) error {
			_, err := s.Pin(ctx, ns, PinChange{Revision: 1})
			return err
		},
		"Unpin": func(ctx context.Context, ns string) error { _, err := s.Unpin(ctx, ns, PinChange{}); return err },
		"SetOverride": func(ctx context.Context, ns string) error {
			_, err := s.SetOverride(ctx, ns, drainOf("a"), nil)
			return err
		},
		"RemoveOverride": func(ctx context.Context, ns string) error {
			_, err := s.RemoveOverride(ctx, ns, Removal{Kind: Drain, Endpoint: "a"})
			return err
		},
		"Overrides": func(ctx context.Context, ns string) error { _, err := s.Overrides(ctx, ns); return err },
		"Watch":     func(ctx context.Context, ns string) error { return s.Watch(ctx, ns, Watcher{}) },
		"AppendEvents": func(ctx context.Context, ns string) error {
			return s.AppendEvents(ctx, ns, tenure, []*pb.FleetEvent{{}})
		},
		"Events":   func(ctx context.Context, ns string) error { _, err := s.Events(ctx, ns, EventQuery{}); return err },
		"Tend":     func(ctx context.Context, ns string) error { return s.Tend(ctx, ns, tenure, Keep{}) },
		"PutToken": func(ctx context.Context, ns string) error { return s.PutToken(ctx, ns, "t", tokenOf("a")) },
		"PutRole": func(ctx context.Context, ns string) error {
			return s.PutRole(ctx, ns, &pb.RoleBinding{Identity: "cn/a", Role: "admin"})
		},
		"PutRevocation": func(ctx context.Context, ns string) error {
			return s.PutRevocation(ctx, ns, &pb.Revocation{Subject: "cn/a"})
		},
		"DeleteRevocation": func(ctx context.Context, ns string) error {
			return s.DeleteRevocation(ctx, ns, &pb.Revocation{Subject: "cn/a"})
		},
		"Audit":       func(ctx context.Context, ns string) error { _, err := s.Audit(ctx, ns, AuditQuery{}); return err },
		"VerifyAudit": func(ctx context.Context, ns string) error { _, err := s.VerifyAudit(ctx, ns); return err },
		"Check":       func(ctx context.Context, ns string) error { _, err := s.Check(ctx, ns); return err },
		"Adopt":       func(ctx context.Context, ns string) error { _, err := s.Adopt(ctx, ns, "ann", "r"); return err },
		"Claim": func(ctx context.Context, ns string) error {
			_, err := s.Claim(ctx, ns, Claims{Held: map[string]*pb.Version{"cn/a": {}}, Of: 1})
			return err
		},
	}
}

// Scenario 62: names that would be prefixes, paths, or everything.
func TestNoCallTakesANameThatReachesOutsideItsNamespace(t *testing.T) {
	s := open(t)
	must(t, s.PutRole(t.Context(), ns, &pb.RoleBinding{Identity: "cn/a", Role: "reader"}))
	before := everything(t, s)
	calls := inNamespaces(s)
	for name, call := range calls {
		for _, ns := range hostile {
			if err := call(t.Context(), ns); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s in namespace %q: %v", name, ns, err)
			}
		}
	}
	if after := everything(t, s); !slices.Equal(before, after) {
		t.Fatalf("keys before: %q, after: %q", before, after)
	}
	text := reflect.TypeFor[string]()
	for m := range reflect.TypeFor[*Store]().Methods() {
		if in := m.Type; in.NumIn() > 2 && in.In(1) == reflect.TypeFor[context.Context]() && in.In(2) == text && calls[m.Name] == nil {
			t.Errorf("%s is not in this test", m.Name)
		}
	}
}

func everything(t *testing.T, s *Store) []string {
	t.Helper()
	got, err := s.client.Get(t.Context(), "\x00", clientv3.WithFromKey(), clientv3.WithKeysOnly())
	must(t, err)
	var out []string
	for _, kv := range got.Kvs {
		out = append(out, string(kv.Key))
	}
	return out
}

func TestANamespaceIsNotReadByAnotherOfWhichItIsAPrefix(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	h, err := s.Head(t.Context(), ns+"-b")
	must(t, err)
	wantHead(t, h, "generation 0 published 0 serving 0 pin 0")
	all, err := s.History(t.Context(), "def", 0, maxHistory*10)
	if err != nil || len(all) != 0 {
		t.Fatal(all, err)
	}
}
