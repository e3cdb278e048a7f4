package intruders

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/controlplane"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/ca"
)

func whoami(t *testing.T, conn *grpc.ClientConn) (*pb.WhoAmIResponse, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return pb.NewOperatorServiceClient(conn).WhoAmI(ctx, &pb.WhoAmIRequest{})
}

func statusOf(t *testing.T, conn *grpc.ClientConn) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := pb.NewFleetServiceClient(conn).Status(ctx, &pb.StatusRequest{})
	return err
}

func TestWithoutTLSNobodyComesIn(t *testing.T) {
	w := newWorld(t)
	plain, err := grpc.NewClient(w.address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if err := statusOf(t, plain); status.Code(err) != codes.Unavailable {
		t.Errorf("plain text: %v", err)
	}
	stranger := ca.New(t).Issue(t, "stranger", ca.Leaf{Name: "acme"})
	stranger.CA = w.authority.Path()
	for who, conn := range map[string]*grpc.ClientConn{
		"another CA's certificate": w.dial(t, stranger, ""),
		"a certificate that ended": w.dial(t, w.authority.Issue(t, "late", ca.Leaf{Name: "acme", Until: time.Now().Add(-time.Minute)}), ""),
	} {
		if err := statusOf(t, conn); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", who, err)
		}
	}
	if err := statusOf(t, w.dial(t, cert.Files{CA: w.authority.Path()}, "")); status.Code(err) != codes.Unauthenticated {
		t.Errorf("TLS as nobody: %v", err)
	}
	if who, err := whoami(t, w.as(t, "acme")); err != nil || who.GetIdentity() != "cn/acme" || who.GetRole() != "client" || !slices.Equal(who.GetTenants(), []string{"acme"}) {
		t.Errorf("whom a tenant names is %v, %v", who, err)
	}
}

func TestBeyondLoopbackAReplicaNeedsACertificate(t *testing.T) {
	c := controlplane.Config{Listen: "0.0.0.0:7400", DataDir: t.TempDir()}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "-tls-cert") {
		t.Errorf("%v", err)
	}
	c.TLS = ca.New(t).Issue(t, "replica", ca.Leaf{Name: "replica"})
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// Other users of a host reach its loopback address, and no file of ours.
func TestOverLoopbackNothingIsGivenWithoutTheTokenOfAFileOfOurs(t *testing.T) {
	dir := t.TempDir()
	s, err := controlplane.New(t.Context(), controlplane.Config{Listen: "127.0.0.1:0", DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s.Run)
	file := filepath.Join(dir, controlplane.TokenName)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	guess := filepath.Join(t.TempDir(), "guess")
	if err := os.WriteFile(guess, []byte(cert.NewToken()), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is ready", func() bool { return s.Ready() == nil })
	for token, want := range map[string]codes.Code{"": codes.Unauthenticated, file: codes.OK} {
		conn := dial(t, s.Addr().String(), cert.Files{}, token)
		if _, err := whoami(t, conn); status.Code(err) != want {
			t.Errorf("token of %q: %v", token, err)
		}
		if err := join(t, conn, leafHello("x")).firstError(); (err == nil) != (want == codes.OK) {
			t.Errorf("a stream with the token of %q: %v", token, err)
		}
	}
	becomes(t, codes.Unauthenticated, func() error { _, err := whoami(t, dial(t, s.Addr().String(), cert.Files{}, guess)); return err })
}

// writes are the calls that change something, with requests that would.
func writes(conn *grpc.ClientConn) map[string]func(context.Context) error {
	catalogs, fleet, operators := pb.NewCatalogServiceClient(conn), pb.NewFleetServiceClient(conn), pb.NewOperatorServiceClient(conn)
	return map[string]func(context.Context) error{
		"publish": func(ctx context.Context) error {
			_, err := catalogs.Publish(ctx, &pb.PublishRequest{AnyBase: true, Force: true})
			return err
		},
		"pin":   func(ctx context.Context) error { _, err := catalogs.Pin(ctx, &pb.PinRequest{Revision: 1}); return err },
		"unpin": func(ctx context.Context) error { _, err := catalogs.Unpin(ctx, &pb.UnpinRequest{}); return err },
		"tag": func(ctx context.Context) error {
			_, err := catalogs.Tag(ctx, &pb.TagRequest{Name: "x", Revision: 1})
			return err
		},
		"drain": func(ctx context.Context) error {
			_, err := fleet.Drain(ctx, &pb.DrainRequest{Endpoint: "a", Reason: "x", Force: true})
			return err
		},
		"undrain": func(ctx context.Context) error {
			_, err := fleet.Undrain(ctx, &pb.UndrainRequest{Endpoint: "a"})
			return err
		},
		"override": func(ctx context.Context) error {
			_, err := fleet.SetOverride(ctx, &pb.SetOverrideRequest{})
			return err
		},
		"un-override": func(ctx context.Context) error {
			_, err := fleet.RemoveOverride(ctx, &pb.RemoveOverrideRequest{})
			return err
		},
		"token": func(ctx context.Context) error {
			_, err := operators.CreateToken(ctx, &pb.CreateTokenRequest{Name: "x", Role: "admin"})
			return err
		},
		"role": func(ctx context.Context) error {
			_, err := operators.GrantRole(ctx, &pb.GrantRoleRequest{Identity: "cn/x", Role: "admin"})
			return err
		},
		"revoke": func(ctx context.Context) error {
			_, err := operators.Revoke(ctx, &pb.RevokeRequest{Subject: "cn/x"})
			return err
		},
		"unrevoke": func(ctx context.Context) error {
			_, err := operators.Unrevoke(ctx, &pb.UnrevokeRequest{Subject: "cn/x"})
			return err
		},
		"adopt": func(ctx context.Context) error {
			_, err := operators.AdoptStore(ctx, &pb.AdoptStoreRequest{Reason: "x"})
			return err
		},
	}
}

func TestWithTheWrongRoleNothingIsChanged(t *testing.T) {
	w := newWorld(t)
	for _, role := range []string{"client", "agent", "replica", "reader"} {
		w.grant(t, "cn/"+role, role, "")
		conn := w.as(t, role)
		becomes(t, codes.OK, func() error {
			who, err := whoami(t, conn)
			if err == nil && who.GetRole() != role {
				return errors.New("not yet")
			}
			return err
		})
		for what, write := range writes(conn) {
			if err := write(t.Context()); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "pointsman role grant") {
				t.Errorf("role %s, %s: %v", role, what, err)
			}
		}
	}
	w.grant(t, "cn/op", "operator", "")
	conn := w.as(t, "op")
	becomes(t, codes.OK, func() error { return statusOf(t, conn) })
	for what, write := range writes(conn) {
		admins := slices.Contains([]string{"token", "role", "revoke", "unrevoke", "adopt"}, what)
		if err := write(t.Context()); (status.Code(err) == codes.PermissionDenied) != admins {
			t.Errorf("role operator, %s: %v", what, err)
		}
	}
	if s, err := pb.NewFleetServiceClient(w.admin).Status(t.Context(), &pb.StatusRequest{}); err != nil || s.GetStoreReachable() != true {
		t.Errorf("%v, %v", s, err)
	}
	if text := w.log.all(); !strings.Contains(text, "turned away") {
		eventually(t, "the log says who was turned away", func() bool { return strings.Contains(w.log.all(), "turned away") })
	}
}

func TestATokenEndsWhenItExpiresOrIsRevoked(t *testing.T) {
	w := newWorld(t)
	brief, _ := w.token(t, "brief", "reader", 2*time.Second)
	lasting, made := w.token(t, "lasting", "reader", 0)
	a, b := w.withToken(t, brief), w.withToken(t, lasting)
	becomes(t, codes.OK, func() error { return statusOf(t, b) })
	becomes(t, codes.Unauthenticated, func() error { return statusOf(t, a) })
	if err := statusOf(t, b); err != nil {
		t.Errorf("the one that lasts: %v", err)
	}
	if _, err := w.operate().Revoke(t.Context(), &pb.RevokeRequest{Subject: made.GetInfo().GetId(), Reason: "left in a log"}); err != nil {
		t.Fatal(err)
	}
	becomes(t, codes.PermissionDenied, func() error { return statusOf(t, b) })
	if err := statusOf(t, b); !strings.Contains(err.Error(), "left in a log") {
		t.Errorf("%v", err)
	}
	if err := join(t, b, leafHello("x")).ended(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a stream: %v", err)
	}
}

// Scenario 62.
func TestATokenIsGoodInItsNamespaceAlone(t *testing.T) {
	w := newWorld(t)
	path, _ := w.token(t, "ci", "admin", 0)
	conn := w.withToken(t, path)
	becomes(t, codes.OK, func() error { return statusOf(t, conn) })
	for _, ns := range []string{"staging", "def", "defaul", "..", "default/..", "default/../default", "/", "*", " ", "default2", "\x00", strings.Repeat("n", 1<<20)} {
		_, planned := pb.NewCatalogServiceClient(conn).Plan(t.Context(), &pb.PlanRequest{Namespace: ns})
		_, published := pb.NewCatalogServiceClient(conn).Publish(t.Context(), &pb.PublishRequest{Namespace: ns, AnyBase: true, Force: true})
		_, drained := pb.NewFleetServiceClient(conn).Drain(t.Context(), &pb.DrainRequest{Namespace: ns, Endpoint: "a", Reason: "x"})
		audits, err := pb.NewOperatorServiceClient(conn).ListAudit(t.Context(), &pb.ListAuditRequest{Namespace: ns})
		if err == nil {
			_, err = audits.Recv()
		}
		for what, err := range map[string]error{"plan": planned, "publish": published, "drain": drained, "audit": err} {
			if status.Code(err) != codes.PermissionDenied {
				t.Errorf("namespace %.20q, %s: %v", ns, what, err)
			}
		}
	}
	eventually(t, "the log says so", func() bool { return strings.Contains(w.log.all(), "is not served here") })
}
