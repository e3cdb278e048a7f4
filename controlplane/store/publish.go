package store

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Publication is a revision to be.
type Publication struct {
	Content *pb.StoredContent
	Base    uint64           // the published revision that it was made from
	AnyBase bool             // publish whatever is published
	Info    *pb.RevisionInfo // author, message, tool version, digest; the store fills the rest
	Actor   string
	Compose Compose
}

// Publish stores a revision and makes it the published one; it is served unless a pin
// holds. A base that is no longer the published one is a *ConflictError.
func (s *Store) Publish(ctx context.Context, namespace string, p Publication) (*pb.Head, uint64, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, 0, err
	}
	content, err := pack(p.Content, time.Now())
	if err != nil {
		return nil, 0, err
	}
	if err := s.writeChunks(ctx, k, content); err != nil {
		return nil, 0, err
	}
	c := composer{store: s, keys: k, compose: p.Compose}
	var revision uint64
	head, err := s.commit(ctx, k, func(g *ground) (*act, error) {
		if err := s.behind.refuse(k, g.head); err != nil {
			return nil, err
		}
		if base := g.head.GetPublished(); base != p.Base && !p.AnyBase {
			return nil, &ConflictError{Base: p.Base, Published: base}
		}
		newest, err := s.newest(ctx, k, g.head)
		if err != nil {
			return nil, err
		}
		revision = newest + 1
		a := newAct(g, &pb.AuditRecord{Verb: "publish", Actor: p.Actor, Reason: p.Info.GetMessage(), Revision: revision})
		info := &pb.RevisionInfo{}
		proto.Merge(info, p.Info)
		info.Revision, info.Parent = revision, g.head.GetPublished()
		if err := a.add(k, info, content); err != nil {
			return nil, err
		}
		a.head.Published = revision
		return a, c.serve(ctx, a, &published{content: p.Content, digest: content.digest, newest: revision})
	})
	return head, revision, err
}

// newest is the highest revision there is: compositions may lie above what head names.
func (s *Store) newest(ctx context.Context, k keys, h *pb.Head) (uint64, error) {
	low := max(h.GetPublished(), h.GetServing())
	got, err := s.do(ctx, clientv3.OpGet(k.revision(low), clientv3.WithRange(clientv3.GetPrefixRangeEnd(k.revisions())),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend), clientv3.WithLimit(1), clientv3.WithKeysOnly()))
	if err != nil {
		return 0, classify("find the newest revision", err)
	}
	if len(got.Get().Kvs) == 0 {
		return low, nil
	}
	return numberIn(string(got.Get().Kvs[0].Key)), nil
}

// newAct begins a change of head.
func newAct(g *ground, r *pb.AuditRecord) *act {
	return &act{head: proto.CloneOf(g.head), record: r}
}

// add creates a revision, if its content is still there and its number still free.
func (a *act) add(k keys, info *pb.RevisionInfo, p *packed) error {
	info.Time = timestamppb.Now()
	b, err := proto.Marshal(&pb.StoredRevision{
		Info: info, ChunksId: p.id, Chunks: uint32(len(p.chunks)), Size: uint64(p.size), ContentDigest: p.digest,
	})
	if err != nil {
		return fmt.Errorf("encode revision %d: %w", info.GetRevision(), err)
	}
	key := k.revision(info.GetRevision())
	a.when = append(a.when, absent(key), present(k.chunk(p.id, 0)))
	a.then = append(a.then, clientv3.OpPut(key, string(b)))
	return nil
}
