package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	keptRevisions = 50 // the newest, whatever names them
	collectedOnce = 32 // revisions in one transaction; etcd takes 128 operations
	collectedPass = 256
)

// revisions deletes those that nobody can come back to. What a transaction deletes was
// looked at before: it holds only if head, the audit's tail, which every act changes, a tag too, and
// each revision are as they were then.
func (h *housework) revisions(ctx context.Context) error {
	g, err := h.store.ground(ctx, h.keys)
	if err != nil {
		return err
	}
	old, err := h.oldRevisions(ctx, g)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(old, collectedOnce) {
		when := g.unchanged(h.keys)
		var ops []clientv3.Op
		for _, kv := range some {
			r := &pb.StoredRevision{}
			if err := proto.Unmarshal(kv.Value, r); err != nil {
				return fmt.Errorf("decode %s: %w", kv.Key, err)
			}
			when = append(when, clientv3.Compare(clientv3.ModRevision(string(kv.Key)), "=", kv.ModRevision))
			ops = append(ops, clientv3.OpDelete(string(kv.Key)), clientv3.OpDelete(h.keys.chunks(r.GetChunksId()), clientv3.WithPrefix()))
		}
		if done, err := h.store.fenced(ctx, h.tenure, when, ops); err != nil || !done {
			return err // the next pass looks again
		}
	}
	return nil
}

// oldRevisions reads the oldest of those that nothing keeps.
func (h *housework) oldRevisions(ctx context.Context, g *ground) ([]*mvccpb.KeyValue, error) {
	got, err := h.store.do(ctx, clientv3.OpGet(h.keys.revisions(), clientv3.WithPrefix(), clientv3.WithKeysOnly()))
	if err != nil {
		return nil, classify("list the revisions", err)
	}
	kept, err := h.kept(ctx, g)
	if err != nil {
		return nil, err
	}
	var ops []clientv3.Op
	all := got.Get().Kvs
	for _, kv := range all[:max(0, len(all)-keptRevisions)] {
		if key := string(kv.Key); !kept[numberIn(key)] && len(ops) < collectedPass {
			ops = append(ops, clientv3.OpGet(key))
		}
	}
	var out []*mvccpb.KeyValue
	for some := range slices.Chunk(ops, collectedOnce) {
		got, err := h.store.do(ctx, clientv3.OpTxn(nil, some, nil))
		if err != nil {
			return nil, classify("read revisions", err)
		}
		for _, r := range got.Txn().Responses {
			out = append(out, r.GetResponseRange().Kvs...)
		}
	}
	return out, nil
}

// kept are the revisions that somebody may need: head's, pinned, tagged, run by a leaf.
func (h *housework) kept(ctx context.Context, g *ground) (map[uint64]bool, error) {
	tags, err := h.store.tags(ctx, h.keys)
	if err != nil {
		return nil, err
	}
	kept := map[uint64]bool{g.head.GetPublished(): true, g.head.GetServing(): true, g.head.GetPin(): true}
	for _, p := range g.head.GetPins() {
		kept[p.GetRevision()] = true
	}
	for n := range tags {
		kept[n] = true
	}
	for _, n := range h.keep.Running {
		kept[n] = true
	}
	return kept, nil
}

// unchanged compares all that an act changes.
func (g *ground) unchanged(k keys) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.ModRevision(k.head()), "=", g.headMod),
		clientv3.Compare(clientv3.ModRevision(k.tail()), "=", g.tailMod),
	}
}

// chunks deletes what no revision names. It compares head, which every new revision
// changes: what is orphaned when it is looked for is orphaned when it is deleted.
func (h *housework) chunks(ctx context.Context) error {
	g, err := h.store.ground(ctx, h.keys)
	if err != nil {
		return err
	}
	ids, err := h.oldChunks(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	named, err := h.namedChunks(ctx)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return named[id] })
	for some := range slices.Chunk(ids[:min(len(ids), collectedPass)], collectedOnce) {
		var ops []clientv3.Op
		for _, id := range some {
			ops = append(ops, clientv3.OpDelete(h.keys.chunks(id), clientv3.WithPrefix()))
		}
		if done, err := h.store.fenced(ctx, h.tenure, g.unchanged(h.keys), ops); err != nil || !done {
			return err
		}
	}
	return nil
}

// oldChunks are the ids written more than an hour ago, one look for each.
func (h *housework) oldChunks(ctx context.Context) ([]string, error) {
	var ids []string
	from, end := h.keys.allChunks(), clientv3.GetPrefixRangeEnd(h.keys.allChunks())
	for {
		got, err := h.store.do(ctx, clientv3.OpGet(from, clientv3.WithRange(end), clientv3.WithLimit(1), clientv3.WithKeysOnly()))
		if err != nil {
			return nil, classify("look for chunks", err)
		}
		if len(got.Get().Kvs) == 0 {
			return ids, nil
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(string(got.Get().Kvs[0].Key), h.keys.allChunks()), "/")
		if at, err := chunksTime(id); err == nil && h.keep.Now.Sub(at) > orphanAge {
			ids = append(ids, id)
		}
		from = clientv3.GetPrefixRangeEnd(h.keys.chunks(id))
	}
}

func (h *housework) namedChunks(ctx context.Context) (map[string]bool, error) {
	got, err := h.store.do(ctx, clientv3.OpGet(h.keys.revisions(), clientv3.WithPrefix()))
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
