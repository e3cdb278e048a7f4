// Package attest says who an agent's children are: by the user at the other end of its socket, by
// their certificate, or, over loopback, by the token of a file that only the agent's user may read.
//
// It knows no roles: what an identity may see is for the control plane to say. But what is only
// this host's business, its records and drains, it keeps from other hosts.
package attest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/pointsman/pointsman/agent/health"
	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/cert"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	handshakeWithin = 10 * time.Second
	maxHeaders      = 32 << 10 // bytes of a call's headers
	tellEach        = time.Second
	maxTold         = 512 // bytes
	service         = "/pointsman.v1."
)

// Whom a method is for.
const (
	children  = iota // whoever is known
	users            // of the agent's own host
	operators        // of it: root and the agent's own user, for it takes something from all users
)

// methods are those that an agent serves.
var methods = map[string]int{
	"SyncService/Sync":           children,
	"RecordService/ListRecords":  users,
	"DecisionService/Pick":       users,
	"DecisionService/FirstToken": users,
	"DecisionService/Settle":     users,
	"NodeService/DrainNode":      operators,
	"NodeService/UndrainNode":    operators,
	"NodeService/NodeStatus":     users,
}

// Config is what a desk needs.
type Config struct {
	Token     string // of the agent's user; empty: nobody comes over loopback in plain text
	TokenPath string // where that is, for those who need it
	Log       hclog.Logger
}

// Desk is where callers of an agent are looked at. Make it with New.
type Desk struct {
	config Config
	own    int
	local  [sha256.Size]byte
	now    func() time.Time

	mu     sync.Mutex
	told   time.Time
	untold int
}

// New makes a desk.
func New(c Config) *Desk {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	return &Desk{config: c, own: os.Geteuid(), local: sha256.Sum256([]byte(c.Token)), now: time.Now}
}

// Options put the desk before all methods of a server.
func (d *Desk) Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.InTapHandle(d.tap), grpc.ConnectionTimeout(handshakeWithin), grpc.MaxHeaderListSize(maxHeaders),
	}
}

// tap lets a call in by its headers, before a byte of its message is read.
func (d *Desk) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if info.FullMethodName == health.Check {
		return ctx, nil
	}
	_, err := d.admit(ctx, info.Header, info.FullMethodName)
	if err != nil {
		d.tell(cert.PeerOf(ctx), info.FullMethodName, err)
	}
	return ctx, err
}

func (d *Desk) admit(ctx context.Context, md metadata.MD, method string) (string, error) {
	p := cert.PeerOf(ctx)
	identity, err := d.identify(p, md)
	if err != nil {
		return "", err
	}
	name, ours := strings.CutPrefix(method, service)
	whose, known := methods[name]
	if !ours || !known {
		return "", status.Errorf(codes.Unimplemented, "unknown method %.64q", method)
	}
	return identity, d.refuses(p, p.Here && d.shows(md), whose, name)
}

// refuses says that a method is not for who is at the other end; own: it showed the token of the agent's
// user. Whom a tunnel brings is nobody of this host.
func (d *Desk) refuses(p cert.Peer, own bool, whose int, name string) error {
	switch {
	case whose == children || own || p.UID == 0 || p.UID == d.own:
		return nil
	case p.UID < 0:
		return status.Errorf(codes.PermissionDenied, "%s is for users of the agent's own host: use its socket there", name)
	case whose == operators:
		return status.Errorf(codes.PermissionDenied, "%s is for root and the agent's own user, uid/%d, and this is uid/%d", name, d.own, p.UID)
	}
	return nil
}

// identify says who called, by what cannot be made up.
func (d *Desk) identify(p cert.Peer, md metadata.MD) (string, error) {
	switch {
	case p.Here && d.shows(md):
		return cert.UserIdentity(d.own), nil
	case !p.Expires.IsZero() && d.now().After(p.Expires):
		return "", status.Errorf(codes.Unauthenticated, "the certificate of %s expired at %s: connect with a newer one", p.Identity, p.Expires.UTC().Format(time.RFC3339))
	case p.Identity != "":
		return p.Identity, nil
	}
	how := "show a certificate"
	if p.Here && d.config.TokenPath != "" {
		how = fmt.Sprintf("use the agent's socket, or the token of %s, for its own user", d.config.TokenPath)
	}
	return "", status.Error(codes.Unauthenticated, "who calls is not known: "+how)
}

// shows tells whether a call shows the token of the agent's user.
func (d *Desk) shows(md metadata.MD) bool {
	values := md.Get("authorization")
	if len(values) != 1 || d.config.Token == "" {
		return false
	}
	scheme, secret, _ := strings.Cut(values[0], " ")
	return strings.EqualFold(scheme, "bearer") && sha256.Sum256([]byte(secret)) == d.local
}

// Join says who a child is, at its hello and again while its stream lives. Only who shows the token of the
// agent's own user speaks for other leaves: in every container that runs as the same number is such a user.
func (d *Desk) Join(ctx context.Context, _ *pb.Hello) (hub.Guest, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	identity, err := d.admit(ctx, md, service+"SyncService/Sync")
	if err != nil {
		return hub.Guest{}, err
	}
	return hub.Guest{Identity: identity, Relay: cert.PeerOf(ctx).Here && d.shows(md)}, nil
}

// tell logs who was turned away, once a second at most.
func (d *Desk) tell(p cert.Peer, method string, err error) {
	d.mu.Lock()
	d.untold++
	now, count := d.now(), d.untold
	due := now.Sub(d.told) >= tellEach
	if due {
		d.told, d.untold = now, 0
	}
	d.mu.Unlock()
	if due {
		d.config.Log.Warn("turned away", "calls", count, "identity", p.Identity, "host", p.Host, "method", short(strings.TrimPrefix(method, service)), "last", short(status.Convert(err).Message()))
	}
}

// short is what of a stranger's words is logged.
func short(text string) string { return text[:min(len(text), maxTold)] }

// Failed logs a connection whose handshake failed; cert.Accept calls it.
func (d *Desk) Failed(from string, err error) {
	d.tell(cert.Peer{Host: from}, "handshake", status.Error(codes.Unauthenticated, err.Error()))
}
