package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const orphanAge = time.Hour // a publish is given so long from its first chunk to its commit

// Sweep deletes overrides that ran out by now, and chunks older than an hour that no
// revision names. Any number of replicas may sweep at once.
func (s *Store) Sweep(ctx context.Context, namespace string, now time.Time) error {
	k, err := keysOf(namespace)
	if err != nil {
		return err
	}
	return errors.Join(s.expire(ctx, k, now), s.sweepChunks(ctx, k, now))
}

func (s *Store) expire(ctx context.Context, k keys, now time.Time) error {
	overrides, err := s.overrides(ctx, k)
	if err != nil {
		return err
	}
	over := func(o *pb.StoredOverride) bool { return o.Until != nil && !o.GetUntil().AsTime().After(now) }
	for _, o := range overrides {
		if !over(o) {
			continue
		}
		r := Removal{Kind: overrideKind(o.GetOverride()), Endpoint: o.GetOverride().GetEndpoint(), Actor: "pointsman", Reason: "it ran out"}
		if _, err := s.remove(ctx, k, r, over); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// sweepChunks compares head, which every new revision changes: what is orphaned when it
// is looked for is orphaned when it is deleted.
func (s *Store) sweepChunks(ctx context.Context, k keys, now time.Time) error {
	g, err := s.ground(ctx, k)
	if err != nil {
		return err
	}
	ids, err := s.oldChunks(ctx, k, now)
	if err != nil || len(ids) == 0 {
		return err
	}
	named, err := s.namedChunks(ctx, k)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if named[id] {
			continue
		}
		unchanged := clientv3.Compare(clientv3.ModRevision(k.head()), "=", g.headMod)
		gone := clientv3.OpDelete(k.chunks(id), clientv3.WithPrefix())
		if _, err := s.do(ctx, clientv3.OpTxn([]clientv3.Cmp{unchanged}, []clientv3.Op{gone}, nil)); err != nil {
			return classify("sweep chunks", err)
		}
	}
	return nil
}

// oldChunks are the ids written more than an hour ago, one look for each.
func (s *Store) oldChunks(ctx context.Context, k keys, now time.Time) ([]string, error) {
	var ids []string
	from, end := k.allChunks(), clientv3.GetPrefixRangeEnd(k.allChunks())
	for {
		got, err := s.do(ctx, clientv3.OpGet(from, clientv3.WithRange(end), clientv3.WithLimit(1), clientv3.WithKeysOnly()))
		if err != nil {
			return nil, classify("look for chunks", err)
		}
		if len(got.Get().Kvs) == 0 {
			return ids, nil
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(string(got.Get().Kvs[0].Key), k.allChunks()), "/")
		if at, err := chunksTime(id); err == nil && now.Sub(at) > orphanAge {
			ids = append(ids, id)
		}
		from = clientv3.GetPrefixRangeEnd(k.chunks(id))
	}
}

func (s *Store) namedChunks(ctx context.Context, k keys) (map[string]bool, error) {
	got, err := s.do(ctx, clientv3.OpGet(k.revisions(), clientv3.WithPrefix()))
	if err != nil {
		return nil, classify("read the revisions", err)
	}
	named := map[string]bool{}
	for _, kv := range got.Get().Kvs {
		r := &pb.StoredRevision{}
		if err := proto.Unmarshal(kv.Value, r); err != nil {
			return nil, fmt.Errorf("decode %s: %w", kv.Key, err)
		}
		named[r.GetChunksId()] = true
	}
	return named, nil
}
