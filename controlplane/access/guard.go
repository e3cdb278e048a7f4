// Package access says who may do what on a replica: it knows callers by their certificate, token
// or socket, gives each the role that is stored for it, and lets a call in before a byte of its
// message is read, or not.
//
// It never decides what a role is for beyond its table of methods, stores nothing, and sees no
// catalog but the tenants' blocks.
//
//	connection, headers ─► tap ─► who is it ─► its role ─► the method's line ─► the handler
//	                               ▲             ▲
//	                       store: tokens     store: roles, revocations      catalog: tenants
package access

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Store is where rights are kept.
type Store interface {
	WatchAccess(ctx context.Context, changed func(*store.Access)) error
}

// Config is what a guard needs. Store is required.
type Config struct {
	Store     Store
	Namespace string              // that this replica serves; empty: "default"
	Tenants   func() []*pb.Tenant // of the catalog that is served; must not block; nil: there are none
	Token     string              // of this user's file; empty: there is none
	TokenPath string              // where that is, for those who need it
	Changed   func()              // told after rights changed; must not block; nil: nobody
	Log       hclog.Logger        // nil: nowhere
}

// Guard stands before a replica's methods. Make it with New.
type Guard struct {
	config Config
	own    int // this process's user
	local  []byte
	now    func() time.Time
	rights atomic.Pointer[rights] // nil: they were not read yet
	denied denials
}

// New makes a guard that lets in this host's own user and root, and others once Run has read the store.
func New(c Config) *Guard {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Tenants == nil {
		c.Tenants = func() []*pb.Tenant { return nil }
	}
	c.Namespace = cmp.Or(c.Namespace, defaultNamespace)
	g := &Guard{config: c, own: os.Geteuid(), now: time.Now}
	if c.Token != "" {
		g.local = hash(c.Token)
	}
	return g
}

// Run follows the store until ctx ends, and says once a second who was turned away.
func (g *Guard) Run(ctx context.Context) error {
	told := make(chan struct{})
	go func() {
		defer close(told)
		g.tell(ctx)
	}()
	err := g.config.Store.WatchAccess(ctx, g.apply)
	<-told
	return err
}

func (g *Guard) apply(a *store.Access) {
	g.rights.Store(newRights(a))
	if g.config.Changed != nil {
		g.config.Changed()
	}
}

// rights are what is stored. Nobody changes them.
type rights struct {
	tokens  map[string]token // by the hash of their secret
	roles   map[string]*pb.RoleBinding
	many    []*pb.RoleBinding // for all below a prefix, the longest first
	revoked map[string]*pb.Revocation
}

type token struct {
	id string
	*pb.StoredToken
}

func newRights(a *store.Access) *rights {
	r := &rights{tokens: make(map[string]token, len(a.Tokens)), roles: a.Roles, revoked: a.Revoked}
	for id, t := range a.Tokens {
		r.tokens[string(t.GetHash())] = token{id, t}
	}
	for identity, b := range a.Roles {
		if strings.HasSuffix(identity, anyBelow) {
			r.many = append(r.many, b)
		}
	}
	slices.SortFunc(r.many, func(a, b *pb.RoleBinding) int {
		return cmp.Or(len(b.GetIdentity())-len(a.GetIdentity()), strings.Compare(a.GetIdentity(), b.GetIdentity()))
	})
	return r
}

// anyBelow ends an identity that stands for each one a step below it.
const anyBelow = "/*"

// binding is an identity's own, or the nearest that it is below.
func (r *rights) binding(identity string) *pb.RoleBinding {
	if b := r.roles[identity]; b != nil {
		return b
	}
	for _, b := range r.many {
		rest, below := strings.CutPrefix(identity, strings.TrimSuffix(b.GetIdentity(), "*"))
		if below && rest != "" && !strings.Contains(rest, "/") {
			return b
		}
	}
	return nil
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// isLocal tells whether a token is that of this user's file.
func (g *Guard) isLocal(secret string) bool {
	return g.local != nil && bytes.Equal(g.local, hash(secret))
}

// Revoked tells whether an identity was revoked, also one that an agent attests.
func (g *Guard) Revoked(identity string) bool {
	r := g.rights.Load()
	return r != nil && r.revoked[identity] != nil
}

// localIdentity is this process's own user.
func (g *Guard) localIdentity() string { return cert.UserIdentity(g.own) }
