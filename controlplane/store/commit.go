package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	maxTries = 64 // of one act against faster writers
	tryPause = 2 * time.Millisecond
	maxPause = 100 * time.Millisecond
)

// act is what one transaction does, and the record of it.
type act struct {
	head   *pb.Head // after; nil: it stays
	record *pb.AuditRecord
	tenure *Tenure // nil: anybody may
	when   []clientv3.Cmp
	then   []clientv3.Op
}

// commit decides on what is there, writes, and decides anew when another writer was faster.
func (s *Store) commit(ctx context.Context, k keys, decide func(*ground) (*act, error)) (*pb.Head, error) {
	for try := range maxTries {
		g, err := s.ground(ctx, k)
		if err != nil {
			return nil, err
		}
		a, err := decide(g)
		if err != nil {
			return nil, err
		}
		done, err := s.write(ctx, k, g, a)
		if err != nil {
			return nil, err
		}
		if done {
			return a.after(g), nil
		}
		if err := pause(ctx, min(tryPause<<min(try, 10), maxPause)); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%d tries: %w", maxTries, ErrBusy)
}

func (a *act) after(g *ground) *pb.Head {
	if a.head == nil {
		return g.head
	}
	return a.head
}

// write is the transaction. It reports whether it was applied.
func (s *Store) write(ctx context.Context, k keys, g *ground, a *act) (bool, error) {
	record, err := a.seal(g)
	if err != nil {
		return false, err
	}
	audit := k.audit(g.audited + 1)
	when := slices.Concat(a.when, g.unchanged(k), []clientv3.Cmp{absent(audit)})
	then := slices.Concat(a.then, []clientv3.Op{clientv3.OpPut(audit, record), clientv3.OpPut(k.tail(), record)})
	if a.head != nil {
		head, err := proto.Marshal(a.head)
		if err != nil {
			return false, fmt.Errorf("encode head: %w", err)
		}
		then = append(then, clientv3.OpPut(k.head(), string(head)))
	}
	done, err := s.apply(ctx, a.tenure, when, then)
	if err != nil && !errors.Is(err, ErrLost) {
		done, err = s.written(ctx, audit, record, fmt.Errorf("%s: %w", a.record.GetVerb(), err))
	}
	if done && s.config.Audited != nil {
		hash := sha256.Sum256([]byte(record))
		s.config.Audited(a.record, hash[:])
	}
	return done, err
}

// apply applies ops if when holds, and t, which may be nil, leads.
func (s *Store) apply(ctx context.Context, t *Tenure, when []clientv3.Cmp, ops []clientv3.Op) (bool, error) {
	if t != nil {
		return s.fenced(ctx, t, when, ops)
	}
	got, err := s.do(ctx, clientv3.OpTxn(when, ops, nil))
	if err != nil {
		return false, classify("write", err)
	}
	return got.Txn().Succeeded, nil
}

// seal numbers and dates what will be written.
func (a *act) seal(g *ground) (string, error) {
	now := timestamppb.Now()
	if h := a.head; h != nil {
		h.Generation = g.head.GetGeneration() + 1
		h.Time, h.Actor, h.Reason = now, a.record.GetActor(), a.record.GetReason()
	}
	r := a.record
	r.Number, r.Time, r.Generation, r.PreviousHash = g.audited+1, now, a.after(g).GetGeneration(), nil
	if g.tail != nil {
		hash := sha256.Sum256(g.tail)
		r.PreviousHash = hash[:]
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
	return string(b), err
}

// written tells whether a transaction without an answer was applied: its audit record is
// there, and no other writer makes the same one.
func (s *Store) written(ctx context.Context, audit, record string, cause error) (bool, error) {
	got, err := s.do(ctx, clientv3.OpGet(audit))
	if err != nil || got.Get().Count == 0 || string(got.Get().Kvs[0].Value) != record {
		return false, cause
	}
	return true, nil
}

// do is one bounded request.
func (s *Store) do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opTimeout)
	defer cancel()
	began := time.Now()
	got, err := s.client.Do(ctx, op)
	s.counts.count(op, time.Since(began), err)
	return got, err
}

func absent(key string) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
}

func present(key string) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(key), ">", 0)
}

// pause waits up to d, at random, so that writers do not meet again.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(mathrand.N(d) + 1)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
