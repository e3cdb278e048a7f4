package access

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/clientlib/cert"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	maxIdentity = 256 // bytes, as the hub takes names
	maxReason   = 1024
	maxLife     = 10 * 365 * 24 * time.Hour
)

var tokenName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$`)

// NewToken makes a token of this replica's namespace. The secret is told once, and kept hashed.
func (g *Guard) NewToken(r *pb.CreateTokenRequest, actor string) (id, secret string, t *pb.StoredToken, err error) {
	life := time.Duration(r.GetDurationUs()) * time.Microsecond
	switch {
	case !tokenName.MatchString(r.GetName()):
		err = fmt.Errorf("name %.64q: want 1 to 63 letters, digits, \".\", \"_\" and \"-\", the first no sign", r.GetName())
	case !slices.Contains(Roles(), r.GetRole()) || r.GetRole() == Replica:
		err = fmt.Errorf("role %.64q: want one of client, agent, reader, operator, admin; replicas show certificates", r.GetRole())
	case r.GetDurationUs() < 0 || r.GetDurationUs() > maxLife.Microseconds():
		err = errors.New("duration: want 0, for a token that is good until it is revoked, to 10 years")
	}
	if err != nil {
		return "", "", nil, err
	}
	var random [6]byte
	_, _ = rand.Read(random[:]) // it never fails
	id, secret = g.config.Namespace+"."+hex.EncodeToString(random[:]), cert.NewToken()
	now := g.now()
	t = &pb.StoredToken{Name: r.GetName(), Role: r.GetRole(), Hash: hash(secret), Created: timestamppb.New(now), Actor: actor}
	if life > 0 {
		t.Expires = timestamppb.New(now.Add(life))
	}
	return id, secret, t, nil
}

// CheckIdentity wants an identity as connections have them, or all below one: "cn/*".
func CheckIdentity(identity string) error {
	kind, rest, _ := strings.Cut(identity, "/")
	switch {
	case len(identity) > maxIdentity || rest == "" || strings.ContainsFunc(identity, func(r rune) bool { return r <= ' ' || r == 0x7f }):
	case kind == "spiffe:" && strings.HasPrefix(rest, "/") && len(rest) > 1, kind == "cn", kind == "token":
		return nil
	case kind == "uid" && strings.Trim(rest, "0123456789") == "":
		return nil
	}
	return fmt.Errorf("identity %.64q: want spiffe://…, cn/NAME, token/NAME or uid/NUMBER; a last \"/*\" stands for all a step below", identity)
}

// CheckRole wants a role that can be given, or none.
func CheckRole(role string) error {
	if role == Nobody || slices.Contains(Roles(), role) {
		return nil
	}
	return fmt.Errorf("role %.64q: want one of %s, or none", role, strings.Join(Roles(), ", "))
}

// CheckNode wants a node only where a role speaks for one.
func CheckNode(role, node string) error {
	switch {
	case node == "":
		return nil
	case role != Agent && role != Client:
		return fmt.Errorf("node %.64q: only role %s or %s is of one node", node, Agent, Client)
	case len(node) > maxIdentity || strings.ContainsFunc(node, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("node %.64q: want a name without spaces, of %d bytes at most", node, maxIdentity)
	}
	return nil
}

// CheckSubject wants what can be revoked: an identity, or a token's id.
func CheckSubject(subject string) error {
	if CheckIdentity(subject) == nil && !strings.HasSuffix(subject, anyBelow) {
		return nil
	}
	if ns, id, ok := strings.Cut(subject, "."); ok && ns != "" && len(id) == 12 && strings.Trim(id, "0123456789abcdef") == "" {
		return nil
	}
	return fmt.Errorf("subject %.64q: want an identity (`pointsman role list`), or a token's id (`pointsman token list`)", subject)
}

// CheckReason bounds what is kept.
func CheckReason(reason string) error {
	if len(reason) > maxReason {
		return fmt.Errorf("reason: %d bytes, at most %d", len(reason), maxReason)
	}
	return nil
}
