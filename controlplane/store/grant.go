package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// identityForm takes what certificates, tokens and sockets name: no spaces, nothing that does not print.
var identityForm = regexp.MustCompile(`^[!-~]{1,512}$`)

// PutToken keeps a token's hash, audited in the same transaction, in namespace's audit. An
// id is taken once: what it stood for before is not known to who holds its secret.
func (s *Store) PutToken(ctx context.Context, namespace, id string, t *pb.StoredToken) error {
	if !nameForm.MatchString(id) || t.GetName() == "" || t.GetRole() == "" || len(t.GetHash()) != sha256.Size {
		return fmt.Errorf("token %q named %q, role %q, hash of %d bytes: %w", id, t.GetName(), t.GetRole(), len(t.GetHash()), ErrInvalid)
	}
	return s.put(ctx, namespace, record{
		key: tokens + id, value: t, once: true,
		audit: &pb.AuditRecord{Verb: "token", Subject: t.GetName(), Actor: t.GetActor(), Reason: "role " + t.GetRole() + ", id " + id},
	})
}

// PutRole gives an identity a role, in the place of the one it had; role "": none any more.
func (s *Store) PutRole(ctx context.Context, namespace string, b *pb.RoleBinding) error {
	if err := checkIdentity(b.GetIdentity()); err != nil {
		return err
	}
	r := &pb.AuditRecord{Verb: "role", Subject: b.GetIdentity(), Actor: b.GetActor(), Reason: b.GetRole()}
	if b.GetNode() != "" {
		r.Reason += " on node " + b.GetNode()
	}
	if b.GetRole() == "" {
		r.Verb = "unrole"
		return s.take(ctx, namespace, roles+b.GetIdentity(), r)
	}
	return s.put(ctx, namespace, record{key: roles + b.GetIdentity(), value: b, audit: r})
}

// PutRevocation ends what its subject may do.
func (s *Store) PutRevocation(ctx context.Context, namespace string, r *pb.Revocation) error {
	if err := checkIdentity(r.GetSubject()); err != nil {
		return err
	}
	return s.put(ctx, namespace, record{
		key: revocations + r.GetSubject(), value: r,
		audit: &pb.AuditRecord{Verb: "revoke", Subject: r.GetSubject(), Actor: r.GetActor(), Reason: r.GetReason()},
	})
}

// DeleteRevocation takes the revocation of r's subject back; r says who does, and why.
func (s *Store) DeleteRevocation(ctx context.Context, namespace string, r *pb.Revocation) error {
	if err := checkIdentity(r.GetSubject()); err != nil {
		return err
	}
	return s.take(ctx, namespace, revocations+r.GetSubject(),
		&pb.AuditRecord{Verb: "unrevoke", Subject: r.GetSubject(), Actor: r.GetActor(), Reason: r.GetReason()})
}

func checkIdentity(name string) error {
	if identityForm.MatchString(name) {
		return nil
	}
	return fmt.Errorf("identity %q: %w: want letters, digits and signs without spaces, 512 at most", name, ErrInvalid)
}

// record is an access record to be.
type record struct {
	key   string
	value proto.Message
	once  bool // its key may not be there
	audit *pb.AuditRecord
}

func (s *Store) put(ctx context.Context, namespace string, r record) error {
	k, err := keysOf(namespace)
	if err != nil {
		return err
	}
	b, err := proto.Marshal(r.value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", r.key, err)
	}
	_, err = s.commit(ctx, k, func(*ground) (*act, error) {
		mod, err := s.modRevision(ctx, r.key)
		if err != nil {
			return nil, err
		}
		if r.once && mod != 0 {
			return nil, fmt.Errorf("%s is there already: %w", strings.TrimPrefix(r.key, root), ErrInvalid)
		}
		return &act{
			record: r.audit, then: []clientv3.Op{clientv3.OpPut(r.key, string(b))},
			when: []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(r.key), "=", mod)},
		}, nil
	})
	return err
}

func (s *Store) take(ctx context.Context, namespace, key string, audit *pb.AuditRecord) error {
	k, err := keysOf(namespace)
	if err != nil {
		return err
	}
	_, err = s.commit(ctx, k, func(*ground) (*act, error) {
		mod, err := s.modRevision(ctx, key)
		if err != nil {
			return nil, err
		}
		if mod == 0 {
			return nil, fmt.Errorf("%s: %w", strings.TrimPrefix(key, root), ErrNotFound)
		}
		return &act{record: audit, when: []clientv3.Cmp{present(key)}, then: []clientv3.Op{clientv3.OpDelete(key)}}, nil
	})
	return err
}

// modRevision is when a key was last written; 0: it is not there.
func (s *Store) modRevision(ctx context.Context, key string) (int64, error) {
	got, err := s.do(ctx, clientv3.OpGet(key, clientv3.WithKeysOnly()))
	if err != nil {
		return 0, classify("look for "+strings.TrimPrefix(key, root), err)
	}
	if len(got.Get().Kvs) == 0 {
		return 0, nil
	}
	return got.Get().Kvs[0].ModRevision, nil
}
