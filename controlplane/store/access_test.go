package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func tokenOf(name string) *pb.StoredToken {
	hash := sha256.Sum256([]byte(name))
	return &pb.StoredToken{Name: "token/" + name, Role: "reader", Hash: hash[:], Actor: "ann"}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func access(t *testing.T, s *Store) *Access {
	t.Helper()
	a, err := s.Access(t.Context())
	must(t, err)
	return a
}

func TestWhoMayDoWhatIsKeptAndAuditedInOneTransaction(t *testing.T) {
	s := open(t)
	ctx := t.Context()
	role := &pb.RoleBinding{Identity: "spiffe://corp/agent/a", Role: "agent", Node: "n1", Actor: "ann"}
	revoked := &pb.Revocation{Subject: "t1", Reason: "leaked", Actor: "bob"}
	must(t, s.PutToken(ctx, ns, "t1", tokenOf("ci")))
	must(t, s.PutRole(ctx, ns, role))
	must(t, s.PutRevocation(ctx, ns, revoked))
	want := &Access{
		Tokens:  map[string]*pb.StoredToken{"t1": tokenOf("ci")},
		Roles:   map[string]*pb.RoleBinding{"spiffe://corp/agent/a": role},
		Revoked: map[string]*pb.Revocation{"t1": revoked},
	}
	if diff := cmp.Diff(want, access(t, s), protocmp.Transform()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	must(t, s.PutRole(ctx, ns, &pb.RoleBinding{Identity: "spiffe://corp/agent/a", Actor: "ann"}))
	must(t, s.DeleteRevocation(ctx, ns, &pb.Revocation{Subject: "t1", Actor: "ann", Reason: "found"}))
	if diff := cmp.Diff(&Access{Tokens: want.Tokens, Roles: map[string]*pb.RoleBinding{}, Revoked: map[string]*pb.Revocation{}}, access(t, s), protocmp.Transform()); diff != "" {
		t.Fatal(diff)
	}
	var got []string
	for _, r := range auditChain(t, s) {
		got = append(got, r.GetActor()+" "+r.GetVerb()+" "+r.GetSubject()+": "+r.GetReason())
	}
	if diff := cmp.Diff([]string{
		"ann token token/ci: role reader, id t1", "ann role spiffe://corp/agent/a: agent on node n1", "bob revoke t1: leaked",
		"ann unrole spiffe://corp/agent/a: ", "ann unrevoke t1: found",
	}, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsNotThereCannotBeTakenAway(t *testing.T) {
	s := open(t)
	for name, err := range map[string]error{
		"role":       s.PutRole(t.Context(), ns, &pb.RoleBinding{Identity: "cn/a"}),
		"revocation": s.DeleteRevocation(t.Context(), ns, &pb.Revocation{Subject: "cn/a"}),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(auditChain(t, s)); n != 0 {
		t.Fatalf("%d records of what was not done", n)
	}
}

func TestAnAccessRecordThatSaysNothingIsRefused(t *testing.T) {
	s := open(t)
	short := tokenOf("ci")
	short.Hash = short.Hash[:8]
	for name, err := range map[string]error{
		"token with a path":   s.PutToken(t.Context(), ns, "../role/x", tokenOf("ci")),
		"token without id":    s.PutToken(t.Context(), ns, "", tokenOf("ci")),
		"short hash":          s.PutToken(t.Context(), ns, "t1", short),
		"empty identity":      s.PutRole(t.Context(), ns, &pb.RoleBinding{Role: "admin"}),
		"identity with space": s.PutRole(t.Context(), ns, &pb.RoleBinding{Identity: "cn/a b", Role: "admin"}),
		"identity with zero":  s.PutRole(t.Context(), ns, &pb.RoleBinding{Identity: "cn/a\x00", Role: "admin"}),
		"long subject":        s.PutRevocation(t.Context(), ns, &pb.Revocation{Subject: strings.Repeat("a", 513)}),
		"namespace":           s.PutRole(t.Context(), "elect", &pb.RoleBinding{Identity: "cn/a", Role: "admin"}),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, s.PutToken(t.Context(), ns, "t1", tokenOf("ci")))
	if err := s.PutToken(t.Context(), ns, "t1", tokenOf("other")); !errors.Is(err, ErrInvalid) {
		t.Fatalf("a token's id was taken twice: %v", err)
	}
}

func TestAChangeOfWhoMayDoWhatIsDeliveredOnce(t *testing.T) {
	s := open(t)
	s.confirmEvery = patience // nothing but the watch tells
	told := make(chan *Access, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.WatchAccess(ctx, func(a *Access) { told <- a }) }()
	defer func() {
		cancel()
		<-done
	}()
	take(t, told, "the first state")
	must(t, s.PutToken(t.Context(), ns, "t1", tokenOf("ci")))
	if a := take(t, told, "a token"); len(a.Tokens) != 1 {
		t.Fatal(a)
	}
	must(t, s.PutRole(t.Context(), ns, &pb.RoleBinding{Identity: "cn/a", Role: "admin"}))
	if a := take(t, told, "a role"); len(a.Roles) != 1 {
		t.Fatal(a)
	}
	publish(t, s, 0, content("one", "chat")) // is none
	must(t, s.PutRevocation(t.Context(), ns, &pb.Revocation{Subject: "t1"}))
	if a := take(t, told, "a revocation"); len(a.Revoked) != 1 || len(told) != 0 {
		t.Fatal(a)
	}
}
