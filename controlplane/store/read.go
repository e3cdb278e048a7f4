package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// ground is what an act is decided on, read at one moment. Its transaction holds only
// if all of it is still so.
type ground struct {
	head    *pb.Head // never nil
	headMod int64
	metaMod int64
	tail    []byte // the last audit record, encoded
	tailMod int64
	audited uint64 // its number
}

func (s *Store) ground(ctx context.Context, k keys) (*ground, error) {
	r, err := s.read(ctx, k, clientv3.OpGet(k.tail()))
	if err != nil {
		return nil, err
	}
	g := &ground{head: r.head, headMod: r.headMod, metaMod: r.metaMod}
	if len(r.more) == 0 {
		return g, nil
	}
	tail := &pb.AuditRecord{}
	if err := proto.Unmarshal(r.more[0].Value, tail); err != nil {
		return nil, fmt.Errorf("decode the last audit record: %w", err)
	}
	g.tail, g.tailMod, g.audited = r.more[0].Value, r.more[0].ModRevision, tail.GetNumber()
	return g, nil
}

// reading is what was true of a namespace at one moment.
type reading struct {
	head    *pb.Head
	headMod int64
	metaMod int64
	more    []*mvccpb.KeyValue
	at      int64 // etcd's revision
}

// read gets head and more, and makes meta in a store that has none.
func (s *Store) read(ctx context.Context, k keys, more clientv3.Op) (*reading, error) {
	gets := []clientv3.Op{clientv3.OpGet(metaKey), clientv3.OpGet(k.head()), more}
	got, err := s.do(ctx, clientv3.OpTxn(nil, gets, nil))
	if err != nil {
		return nil, classify("read head", err)
	}
	txn := got.Txn()
	found := func(i int) []*mvccpb.KeyValue { return txn.Responses[i].GetResponseRange().Kvs }
	if len(found(0)) == 0 {
		if err := s.makeMeta(ctx); err != nil {
			return nil, err
		}
		return s.read(ctx, k, more)
	}
	r := &reading{metaMod: found(0)[0].ModRevision, more: found(2), at: txn.Header.Revision}
	if err := r.decode(found(0)[0], found(1)); err != nil {
		return nil, err
	}
	s.behind.settle(k, r.head)
	return r, nil
}

func (r *reading) decode(meta *mvccpb.KeyValue, head []*mvccpb.KeyValue) error {
	m := &pb.StoredMeta{}
	if err := proto.Unmarshal(meta.Value, m); err != nil {
		return fmt.Errorf("decode meta: %w", err)
	}
	r.head = &pb.Head{}
	if len(head) > 0 {
		if err := proto.Unmarshal(head[0].Value, r.head); err != nil {
			return fmt.Errorf("decode head: %w", err)
		}
		r.headMod = head[0].ModRevision
	}
	r.head.StoreId, r.head.Epoch = m.GetStoreId(), m.GetEpoch()
	return nil
}

func (s *Store) makeMeta(ctx context.Context) error {
	var id [8]byte
	rand.Read(id[:])
	b, err := proto.Marshal(&pb.StoredMeta{StoreId: hex.EncodeToString(id[:]), Epoch: 1})
	if err != nil {
		return err
	}
	_, err = s.do(ctx, clientv3.OpTxn([]clientv3.Cmp{absent(metaKey)}, []clientv3.Op{clientv3.OpPut(metaKey, string(b))}, nil))
	return classify("make a store", err)
}
