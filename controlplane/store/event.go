package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	maxEventBatch = 256 // events in one key
	defaultEvents = 1000
	maxEvents     = 10_000
	clocksDiffer  = 10 * time.Minute // a later number may have a time that is earlier by so much
)

// AppendEvents keeps what happened, under one key, if t leads: callers write once a second
// at most. It fills numbers and the term. What was appended and not answered for is not appended again.
func (s *Store) AppendEvents(ctx context.Context, namespace string, t *Tenure, events []*pb.FleetEvent) error {
	k, err := keysOf(namespace)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(events, maxEventBatch) {
		if err := s.appendEvents(ctx, k, t, batch); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) appendEvents(ctx context.Context, k keys, t *Tenure, events []*pb.FleetEvent) error {
	for range 3 { // another writer is this one's own write that was answered late, or a person
		last, mod, err := s.lastEvent(ctx, k)
		if err != nil {
			return err
		}
		for i, e := range events {
			e.Number, e.Term = last+uint64(i)+1, t.term
			if e.Time == nil {
				e.Time = timestamppb.Now()
			}
		}
		last += uint64(len(events))
		value, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pb.StoredEvents{Events: events})
		if err != nil {
			return fmt.Errorf("encode events: %w", err)
		}
		unchanged := clientv3.Compare(clientv3.ModRevision(k.eventTail()), "=", mod)
		done, err := s.fenced(ctx, t, []clientv3.Cmp{unchanged}, []clientv3.Op{
			clientv3.OpPut(k.event(last), string(value)), clientv3.OpPut(k.eventTail(), strconv.FormatUint(last, 10)),
		})
		if err != nil && !errors.Is(err, ErrLost) {
			done, err = s.written(ctx, k.event(last), string(value), err)
		}
		if err != nil || done {
			return err
		}
	}
	return fmt.Errorf("append events: %w", ErrBusy)
}

// lastEvent is the number of the last event, and when it was written.
func (s *Store) lastEvent(ctx context.Context, k keys) (uint64, int64, error) {
	got, err := s.do(ctx, clientv3.OpGet(k.eventTail()))
	if err != nil {
		return 0, 0, classify("look for the last event", err)
	}
	if len(got.Get().Kvs) == 0 {
		return 0, 0, nil
	}
	kv := got.Get().Kvs[0]
	n, err := strconv.ParseUint(string(kv.Value), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("decode %s: %w", kv.Key, err)
	}
	return n, kv.ModRevision, nil
}

// EventQuery says which events.
type EventQuery struct {
	Since time.Time // zero: all that are kept
	After uint64    // number; of a next page
	Limit int       // 0: 1000; 10000 at most
}

// Events lists what happened, oldest first. It is kept for 72 h.
func (s *Store) Events(ctx context.Context, namespace string, q EventQuery) ([]*pb.FleetEvent, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, err
	}
	all, from := s.eventSeries(k), q.After+1
	if !q.Since.IsZero() {
		if from, err = all.since(ctx, from, q.Since.Add(-clocksDiffer)); err != nil {
			return nil, err
		}
	}
	limit := limited(q.Limit, defaultEvents, maxEvents)
	var out []*pb.FleetEvent
	err = all.scan(ctx, from, func(kv *mvccpb.KeyValue) (bool, error) {
		batch := &pb.StoredEvents{}
		if err := proto.Unmarshal(kv.Value, batch); err != nil {
			return false, fmt.Errorf("decode %s: %w", kv.Key, err)
		}
		for _, e := range batch.GetEvents() {
			if e.GetNumber() > q.After && !e.GetTime().AsTime().Before(q.Since) && len(out) < limit {
				out = append(out, e)
			}
		}
		return len(out) < limit, nil
	})
	return out, err
}

func (s *Store) eventSeries(k keys) series {
	return series{store: s, prefix: k.events(), time: func(b []byte) (time.Time, error) {
		batch := &pb.StoredEvents{}
		err := proto.Unmarshal(b, batch)
		var last time.Time
		for _, e := range batch.GetEvents() {
			last = e.GetTime().AsTime()
		}
		return last, err
	}}
}

// limited is how many are given: the default for none, and the most for more.
func limited(asked, usual, most int) int {
	if asked <= 0 {
		return usual
	}
	return min(asked, most)
}
