package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/cert"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Caller is who calls, by the connection and the token: never by what a message says.
type Caller struct {
	Identity string // spiffe://…, cn/NAME, token/NAME, uid/N
	Role     string // empty: none
	node     string // the only one it may speak for; empty: any
}

// has is its role in words.
func (c Caller) has() string {
	if c.Role == Nobody {
		return "no role"
	}
	return "role " + c.Role
}

type callerKey struct{}

// From is who a call comes from; the zero Caller: nobody looked.
func From(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// caller says whose a call is, now.
func (g *Guard) caller(ctx context.Context, md metadata.MD) (Caller, error) {
	p := cert.PeerOf(ctx)
	secret, shown, err := bearer(md)
	switch {
	case err != nil:
		return Caller{}, err
	case shown && g.isLocal(secret) && !p.Here:
		return Caller{}, status.Error(codes.Unauthenticated, "this token is good on the replica's own host only: make another with `pointsman token create`")
	case shown && g.isLocal(secret), p.UID == 0, p.UID >= 0 && p.UID == g.own:
		return g.self(p), nil
	}
	r := g.rights.Load()
	if r == nil && (shown || p.Identity != "") {
		return Caller{}, status.Error(codes.Unavailable, "not ready: who may do what was not read from etcd yet")
	}
	if p.Identity != "" {
		if err := g.stands(r, p); err != nil {
			return Caller{}, err
		}
	}
	switch {
	case shown:
		return g.byToken(r, secret, p)
	case p.Identity != "":
		return g.bound(r, Caller{Identity: p.Identity}), nil
	}
	return Caller{}, g.unknown(p)
}

// self is this process's own user, or root: they could do all of it without us.
func (g *Guard) self(p cert.Peer) Caller {
	identity := g.localIdentity()
	if p.UID >= 0 {
		identity = p.Identity
	}
	return Caller{Identity: identity, Role: Admin}
}

// bearer is the token of a call's headers.
func bearer(md metadata.MD) (secret string, shown bool, err error) {
	values := md.Get("authorization")
	if len(values) == 0 {
		return "", false, nil
	}
	scheme, secret, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "bearer") || secret == "" {
		return "", false, status.Error(codes.Unauthenticated, "authorization: want one header, \"Bearer\" and a token")
	}
	return secret, true, nil
}

// stands says whether a certificate, or a socket's user, may be anybody still.
func (g *Guard) stands(r *rights, p cert.Peer) error {
	if !p.Expires.IsZero() && g.now().After(p.Expires) {
		return status.Errorf(codes.Unauthenticated, "the certificate of %s expired at %s: connect with a newer one", p.Identity, p.Expires.UTC().Format(time.RFC3339))
	}
	return r.standing(p.Identity)
}

func (r *rights) standing(subjects ...string) error {
	for _, s := range subjects {
		if v := r.revoked[s]; v != nil {
			return status.Errorf(codes.PermissionDenied, "%s was revoked: %s: an admin takes that back with `pointsman role unrevoke %s`, or makes a new token", s, v.GetReason(), s)
		}
	}
	return nil
}

func (g *Guard) byToken(r *rights, secret string, p cert.Peer) (Caller, error) {
	if !p.Secure && !p.Here {
		return Caller{}, status.Error(codes.Unauthenticated, "a token in the clear: connect by TLS, and revoke this token")
	}
	t, ok := r.tokens[string(hash(secret))]
	if !ok || !strings.HasPrefix(t.id, g.config.Namespace+".") {
		return Caller{}, status.Errorf(codes.Unauthenticated, "the token is none of namespace %q: an admin makes one with `pointsman token create`", g.config.Namespace)
	}
	identity := "token/" + t.GetName()
	if until := t.GetExpires(); until != nil && g.now().After(until.AsTime()) {
		return Caller{}, status.Errorf(codes.Unauthenticated, "token %s of %s expired at %s: an admin makes another with `pointsman token create`", t.id, identity, until.AsTime().Format(time.RFC3339))
	}
	if err := r.standing(t.id, identity); err != nil {
		return Caller{}, err
	}
	return g.bound(r, Caller{Identity: identity, Role: t.GetRole()}), nil
}

// bound gives a caller the role that is stored for it; whom a tenant names is a client at least.
func (g *Guard) bound(r *rights, c Caller) Caller {
	if b := r.binding(c.Identity); b != nil {
		c.Role, c.node = b.GetRole(), b.GetNode()
	}
	if c.Role == Nobody && named(g.config.Tenants(), c.Identity) {
		c.Role = Client
	}
	if c.Role == Agent && c.node == "" {
		c.node = cmp.Or(c.Identity[strings.LastIndexByte(c.Identity, '/')+1:], c.Identity) // none is no node's: not any node's
	}
	return c
}

func named(tenants []*pb.Tenant, identity string) bool {
	return slices.ContainsFunc(tenants, func(t *pb.Tenant) bool { return slices.Contains(t.GetIdentities(), identity) })
}

// unknown says how to become known.
func (g *Guard) unknown(p cert.Peer) error {
	how := "show a certificate, or a token (-token-file, POINTSMAN_TOKEN_FILE)"
	if p.Here && g.config.TokenPath != "" {
		how = fmt.Sprintf("over loopback it takes a token: that of %s, for this host's own user (-token-file, POINTSMAN_TOKEN_FILE)", g.config.TokenPath)
	}
	return status.Error(codes.Unauthenticated, "who calls is not known: "+how)
}

// allow says whether a caller may call a method.
func allow(c Caller, method string) error {
	role, known := needed(method)
	switch {
	case !known:
		return status.Errorf(codes.Unimplemented, "unknown method %.64q", method)
	case May(c.Role, role):
		return nil
	}
	text := fmt.Sprintf("%s has %s, and %s needs %s: an admin gives it with `pointsman role grant %s %s`",
		c.Identity, c.has(), strings.TrimPrefix(method, service), role, c.Identity, role)
	if method == syncMethod { // who it is for, only the hello tells, which comes after this
		text += fmt.Sprintf("; if it is an agent, with `pointsman role grant %s %s`", c.Identity, Agent)
	}
	return status.Error(codes.PermissionDenied, text)
}
