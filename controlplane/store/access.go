package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Access is who may do what, as one moment of etcd had it. The store judges none of it:
// controlplane/access does. It is never changed once it was delivered.
type Access struct {
	Tokens  map[string]*pb.StoredToken // by id
	Roles   map[string]*pb.RoleBinding // by identity
	Revoked map[string]*pb.Revocation  // by subject: an identity, or a token's id
}

// Access reads who may do what.
func (s *Store) Access(ctx context.Context) (*Access, error) {
	a, _, err := s.access(ctx)
	return a, err
}

// WatchAccess delivers who may do what until ctx ends: at once, and when it changed. While
// etcd is away the last word stands.
func (s *Store) WatchAccess(ctx context.Context, changed func(*Access)) error {
	var held [sha256.Size]byte
	v := vigil{store: s, spans: []span{under(tokens), under(roles), under(revocations)}, every: s.confirmEvery}
	v.look = func(ctx context.Context, _ time.Time) (int64, error) {
		a, r, err := s.access(ctx)
		if err != nil {
			return 0, err
		}
		if held != r.mark {
			held = r.mark
			changed(a)
		}
		return r.at, nil
	}
	return v.run(ctx)
}

// accessReading tells one state of the access records from another.
type accessReading struct {
	mark [sha256.Size]byte // of all records
	at   int64             // etcd's revision
}

func (s *Store) access(ctx context.Context) (*Access, accessReading, error) {
	get := func(prefix string) clientv3.Op { return clientv3.OpGet(prefix, clientv3.WithPrefix()) }
	got, err := s.do(ctx, clientv3.OpTxn(nil, []clientv3.Op{get(tokens), get(roles), get(revocations)}, nil))
	if err != nil {
		return nil, accessReading{}, classify("read who may do what", err)
	}
	a := &Access{Tokens: map[string]*pb.StoredToken{}, Roles: map[string]*pb.RoleBinding{}, Revoked: map[string]*pb.Revocation{}}
	sum := sha256.New()
	for i, take := range []func(*mvccpb.KeyValue) error{a.takeToken, a.takeRole, a.takeRevocation} {
		for _, kv := range got.Txn().Responses[i].GetResponseRange().Kvs {
			if err := take(kv); err != nil {
				return nil, accessReading{}, fmt.Errorf("decode %s: %w", kv.Key, err)
			}
			fmt.Fprintf(sum, "%d %s %d %s ", len(kv.Key), kv.Key, len(kv.Value), kv.Value)
		}
	}
	return a, accessReading{mark: [sha256.Size]byte(sum.Sum(nil)), at: got.Txn().Header.Revision}, nil
}

func (a *Access) takeToken(kv *mvccpb.KeyValue) error {
	t := &pb.StoredToken{}
	a.Tokens[strings.TrimPrefix(string(kv.Key), tokens)] = t
	return proto.Unmarshal(kv.Value, t)
}

func (a *Access) takeRole(kv *mvccpb.KeyValue) error {
	b := &pb.RoleBinding{}
	a.Roles[strings.TrimPrefix(string(kv.Key), roles)] = b
	return proto.Unmarshal(kv.Value, b)
}

func (a *Access) takeRevocation(kv *mvccpb.KeyValue) error {
	r := &pb.Revocation{}
	a.Revoked[strings.TrimPrefix(string(kv.Key), revocations)] = r
	return proto.Unmarshal(kv.Value, r)
}
