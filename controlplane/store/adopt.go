package store

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Adopt accepts a store that went back as what is true now: it raises the epoch above
// all that are known to be held, so that everything older gives way to head.
func (s *Store) Adopt(ctx context.Context, namespace, actor, reason string) (uint64, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return 0, err
	}
	h, err := s.commit(ctx, k, func(g *ground) (*act, error) {
		epoch := g.head.GetEpoch()
		if r := s.Regressed(namespace); r != nil {
			epoch = max(epoch, r.Epoch)
		}
		epoch++
		meta, err := proto.Marshal(&pb.StoredMeta{StoreId: g.head.GetStoreId(), Epoch: epoch})
		if err != nil {
			return nil, fmt.Errorf("encode meta: %w", err)
		}
		a := newAct(g, &pb.AuditRecord{Verb: "adopt-store", Subject: fmt.Sprintf("epoch %d", epoch), Actor: actor, Reason: reason})
		a.head.Epoch = epoch
		a.when = append(a.when, clientv3.Compare(clientv3.ModRevision(metaKey), "=", g.metaMod))
		a.then = append(a.then, clientv3.OpPut(metaKey, string(meta)))
		return a, nil
	})
	if err != nil {
		return 0, err
	}
	s.behind.settle(k, h)
	return h.GetEpoch(), nil
}
