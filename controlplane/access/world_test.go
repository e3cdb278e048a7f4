package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// etcd's own, one for the process.
		goleak.IgnoreTopFunction("go.etcd.io/etcd/client/pkg/v3/logutil.(*MergeLogger).outputLoop"),
	)
}

// memory is a store of rights.
type memory struct {
	mu      sync.Mutex
	access  store.Access
	changed func(*store.Access)
}

func (m *memory) WatchAccess(ctx context.Context, changed func(*store.Access)) error {
	m.mu.Lock()
	m.changed = changed
	m.mu.Unlock()
	m.change(func(*store.Access) {})
	<-ctx.Done()
	return ctx.Err()
}

func (m *memory) change(f func(*store.Access)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := store.Access{Tokens: maps.Clone(m.access.Tokens), Roles: maps.Clone(m.access.Roles), Revoked: maps.Clone(m.access.Revoked)}
	f(&a)
	m.access = a
	m.changed(&a)
}

// world is a guard that has read its store.
type world struct {
	*Guard
	store   *memory
	tenants []*pb.Tenant
	log     *lines
}

type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, string(p))
	return len(p), nil
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.text)
}

const localToken = "pmt_local"

func newWorld() *world {
	w := &world{log: &lines{}, store: &memory{access: store.Access{
		Tokens: map[string]*pb.StoredToken{}, Roles: map[string]*pb.RoleBinding{}, Revoked: map[string]*pb.Revocation{},
	}}}
	w.Guard = New(Config{
		Store: w.store, Token: localToken, TokenPath: "/run/token", Tenants: func() []*pb.Tenant { return w.tenants },
		Log: hclog.New(&hclog.LoggerOptions{Output: w.log}),
	})
	w.store.changed = w.apply
	w.store.change(func(*store.Access) {})
	return w
}

func (w *world) role(identity, role, node string) {
	w.store.change(func(a *store.Access) {
		if delete(a.Roles, identity); role != "" {
			a.Roles[identity] = &pb.RoleBinding{Identity: identity, Role: role, Node: node}
		}
	})
}

func (w *world) revoke(subject string) {
	w.store.change(func(a *store.Access) { a.Revoked[subject] = &pb.Revocation{Subject: subject, Reason: "left"} })
}

// token makes one and returns its id and secret.
func (w *world) token(t *testing.T, name, role string, life time.Duration) (id, secret string) {
	t.Helper()
	id, secret, stored, err := w.NewToken(&pb.CreateTokenRequest{Name: name, Role: role, DurationUs: life.Microseconds()}, "ada")
	if err != nil {
		t.Fatal(err)
	}
	w.store.change(func(a *store.Access) { a.Tokens[id] = stored })
	return id, secret
}

var (
	loopback  = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	elsewhere = &net.TCPAddr{IP: net.IPv4(198, 51, 100, 1), Port: 1}
)

// as is a call over TLS with a certificate of this common name; empty: without one.
func as(name string, from net.Addr) context.Context {
	info := credentials.TLSInfo{}
	if name != "" {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
		info.State = tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}, VerifiedChains: [][]*x509.Certificate{{c}}}
	}
	return peer.NewContext(context.Background(), &peer.Peer{Addr: from, AuthInfo: info})
}

// plainly is a call without TLS.
func plainly(from net.Addr) context.Context {
	return peer.NewContext(context.Background(), &peer.Peer{Addr: from})
}

func bearing(ctx context.Context, token string) context.Context {
	return metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer "+token))
}

func (w *world) call(ctx context.Context, method string) (Caller, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	return w.admit(ctx, md, service+method)
}

func want(t *testing.T, err error, code codes.Code) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("%v, want %v", err, code)
	}
}
