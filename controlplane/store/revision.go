package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	defaultHistory = 50
	maxHistory     = 1000
)

// Head is what is published and served now, as a majority of etcd knows it. A namespace
// that was never published in has generation 0.
func (s *Store) Head(ctx context.Context, namespace string) (*pb.Head, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, err
	}
	g, err := s.ground(ctx, k)
	if err != nil {
		return nil, err
	}
	return g.head, nil
}

// Revision gives one revision back as it was published.
func (s *Store) Revision(ctx context.Context, namespace string, n uint64) (*pb.RevisionInfo, *pb.StoredContent, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.revision(ctx, k, n)
	if err != nil {
		return nil, nil, err
	}
	tags, err := s.tags(ctx, k)
	if err != nil {
		return nil, nil, err
	}
	r.Info.Tags = tags[n]
	c, err := s.readContent(ctx, k, r)
	return r.GetInfo(), c, err
}

func (s *Store) revision(ctx context.Context, k keys, n uint64) (*pb.StoredRevision, error) {
	got, err := s.do(ctx, clientv3.OpGet(k.revision(n)))
	if err != nil {
		return nil, classify("read a revision", err)
	}
	if got.Get().Count == 0 {
		return nil, fmt.Errorf("revision %d: %w", n, ErrNotFound)
	}
	r := &pb.StoredRevision{}
	if err := proto.Unmarshal(got.Get().Kvs[0].Value, r); err != nil {
		return nil, fmt.Errorf("decode revision %d: %w", n, err)
	}
	return r, nil
}

// History lists revisions below before (0: all), newest first, at most limit (0: 50).
func (s *Store) History(ctx context.Context, namespace string, before uint64, limit int) ([]*pb.RevisionInfo, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = defaultHistory
	}
	end := clientv3.GetPrefixRangeEnd(k.revisions())
	if before > 0 {
		end = k.revision(before)
	}
	got, err := s.do(ctx, clientv3.OpGet(k.revisions(), clientv3.WithRange(end),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend), clientv3.WithLimit(int64(min(limit, maxHistory)))))
	if err != nil {
		return nil, classify("read the history", err)
	}
	tags, err := s.tags(ctx, k)
	if err != nil {
		return nil, err
	}
	var out []*pb.RevisionInfo
	for _, kv := range got.Get().Kvs {
		r := &pb.StoredRevision{}
		if err := proto.Unmarshal(kv.Value, r); err != nil {
			return nil, fmt.Errorf("decode %s: %w", kv.Key, err)
		}
		r.Info.Tags = tags[r.GetInfo().GetRevision()]
		out = append(out, r.GetInfo())
	}
	return out, nil
}

// Tag keeps a revision under a name; revision 0 takes the name away.
func (s *Store) Tag(ctx context.Context, namespace, name string, n uint64, actor string) error {
	k, err := keysOf(namespace)
	if err != nil {
		return err
	}
	if _, err := strconv.ParseUint(name, 10, 64); err == nil {
		return fmt.Errorf("tag %q: %w: it would be taken for a revision's number", name, ErrInvalid)
	}
	if !nameForm.MatchString(name) {
		return fmt.Errorf("tag %q: %w: want letters, digits, dots, dashes and underscores, 128 at most", name, ErrInvalid)
	}
	if n == 0 {
		return s.untag(ctx, k, name, actor)
	}
	if _, err := s.revision(ctx, k, n); err != nil {
		return err
	}
	_, err = s.commit(ctx, k, func(*ground) (*act, error) {
		return &act{
			record: &pb.AuditRecord{Verb: "tag", Subject: name, Actor: actor, Revision: n},
			when:   []clientv3.Cmp{present(k.revision(n))},
			then:   []clientv3.Op{clientv3.OpPut(k.tag(name), strconv.FormatUint(n, 10))},
		}, nil
	})
	return err
}

func (s *Store) untag(ctx context.Context, k keys, name, actor string) error {
	_, err := s.commit(ctx, k, func(*ground) (*act, error) {
		n, err := s.tagged(ctx, k, name)
		return &act{
			record: &pb.AuditRecord{Verb: "untag", Subject: name, Actor: actor, Revision: n},
			when:   []clientv3.Cmp{present(k.tag(name))},
			then:   []clientv3.Op{clientv3.OpDelete(k.tag(name))},
		}, err
	})
	return err
}

// ResolveTag is the revision that a name stands for.
func (s *Store) ResolveTag(ctx context.Context, namespace, name string) (uint64, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return 0, err
	}
	return s.tagged(ctx, k, name)
}

func (s *Store) tagged(ctx context.Context, k keys, name string) (uint64, error) {
	got, err := s.do(ctx, clientv3.OpGet(k.tag(name)))
	if err != nil {
		return 0, classify("read a tag", err)
	}
	if got.Get().Count == 0 {
		return 0, fmt.Errorf("tag %q: %w", name, ErrNotFound)
	}
	return strconv.ParseUint(string(got.Get().Kvs[0].Value), 10, 64)
}

// tags are the names of each revision that has any.
func (s *Store) tags(ctx context.Context, k keys) (map[uint64][]string, error) {
	got, err := s.do(ctx, clientv3.OpGet(k.tags(), clientv3.WithPrefix()))
	if err != nil {
		return nil, classify("read the tags", err)
	}
	out := map[uint64][]string{}
	for _, kv := range got.Get().Kvs {
		n, err := strconv.ParseUint(string(kv.Value), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", kv.Key, err)
		}
		out[n] = append(out[n], strings.TrimPrefix(string(kv.Key), k.tags()))
	}
	return out, nil
}
