package store

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Leader is the replica that leads.
type Leader struct {
	Replica, Address string
	Term             uint64
	Since            time.Time
}

// Leader tells who leads, until ctx ends: at once, and at each change; nil is nobody.
// It is level-triggered: who led for a moment may never be told. While etcd is away
// the last leader stands.
func (s *Store) Leader(ctx context.Context, changed func(*Leader)) error {
	told, first := uint64(0), true
	v := vigil{store: s, spans: []span{under(s.elections())}, every: s.pace.renew}
	v.look = func(ctx context.Context, _ time.Time) (int64, error) {
		l, seen, err := s.leader(ctx)
		if err != nil {
			return 0, err
		}
		var term uint64
		if l != nil {
			term = l.Term
		}
		if first || term != told {
			changed(l)
		}
		told, first = term, false
		return seen, nil
	}
	return v.run(ctx)
}

// leader reads who leads, and etcd's revision at which it did.
func (s *Store) leader(ctx context.Context) (*Leader, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.pace.answer)
	defer cancel()
	got, err := s.do(ctx, clientv3.OpGet(s.elections(), clientv3.WithPrefix(), clientv3.WithLimit(1)))
	if err != nil {
		return nil, 0, classify("look who leads", err)
	}
	r := got.Get()
	if len(r.Kvs) == 0 {
		return nil, r.Header.Revision, nil
	}
	l := &pb.StoredLeader{}
	if err := proto.Unmarshal(r.Kvs[0].Value, l); err != nil {
		return nil, 0, fmt.Errorf("decode %s: %w", r.Kvs[0].Key, err)
	}
	return &Leader{
		Replica: l.GetReplica(), Address: l.GetAddress(), Term: uint64(r.Kvs[0].CreateRevision), Since: l.GetSince().AsTime(),
	}, r.Header.Revision, nil
}
