package store

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const pageSize = 200 // keys read at once

// series is numbered keys whose times grow with their numbers, but for clocks that differ.
type series struct {
	store  *Store
	prefix string
	at     int64 // as they were at etcd's revision; 0: when reading begins
	time   func(value []byte) (time.Time, error)
}

// first gives the first key at n or after; nil: there is none.
func (q series) first(ctx context.Context, n uint64) (*mvccpb.KeyValue, error) {
	got, err := q.store.do(ctx, clientv3.OpGet(q.prefix+number(n),
		clientv3.WithRange(clientv3.GetPrefixRangeEnd(q.prefix)), clientv3.WithLimit(1)))
	if err != nil {
		return nil, classify("read "+q.prefix, err)
	}
	if len(got.Get().Kvs) == 0 {
		return nil, nil
	}
	return got.Get().Kvs[0], nil
}

// since gives the number of the first key from low on that is not before at, in few
// reads; one above the last: there is none.
func (q series) since(ctx context.Context, low uint64, at time.Time) (uint64, error) {
	high, err := q.end(ctx, low)
	if err != nil {
		return 0, err
	}
	for low < high {
		mid := low + (high-low)/2
		kv, err := q.first(ctx, mid)
		if err != nil {
			return 0, err
		}
		if kv == nil {
			high = mid
			continue
		}
		t, err := q.time(kv.Value)
		if err != nil {
			return 0, fmt.Errorf("decode %s: %w", kv.Key, err)
		}
		if t.Before(at) {
			low = numberIn(string(kv.Key)) + 1
		} else {
			high = mid
		}
	}
	return low, nil
}

// end is a number above all: it doubles its step until nothing follows.
func (q series) end(ctx context.Context, low uint64) (uint64, error) {
	for step := uint64(1); ; step *= 2 {
		kv, err := q.first(ctx, low+step)
		if err != nil || kv == nil {
			return low + step, err
		}
	}
}

// scan reads keys from n on, as they were at one moment, until each says it is enough.
func (q series) scan(ctx context.Context, n uint64, each func(*mvccpb.KeyValue) (bool, error)) error {
	from, at := q.prefix+number(n), q.at
	for {
		got, err := q.store.do(ctx, clientv3.OpGet(from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(q.prefix)),
			clientv3.WithLimit(pageSize), clientv3.WithRev(at)))
		if err != nil {
			return classify("read "+q.prefix, err)
		}
		r := got.Get()
		for _, kv := range r.Kvs {
			if more, err := each(kv); err != nil || !more {
				return err
			}
		}
		if !r.More {
			return nil
		}
		if at == 0 {
			at = r.Header.Revision
		}
		from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}
