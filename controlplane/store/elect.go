package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// pace is how fast leadership is kept, lost and taken.
type pace struct {
	ttl    time.Duration // of the lease, whole seconds
	stop   time.Duration // a leader stops itself so long after the last request that was answered
	renew  time.Duration // between requests, and between looks of those who wait
	answer time.Duration // one request is given so long
	rest   time.Duration // after a tenure, for others to be first
}

var defaultPace = pace{
	ttl: 5 * time.Second, stop: 3 * time.Second, // control-plane.md, etcd layout
	renew: time.Second, answer: time.Second, rest: 500 * time.Millisecond,
}

// Candidate is a replica that would lead.
type Candidate struct {
	Replica string // its name
	Address string // where other replicas reach it
}

// Lead campaigns until ctx ends, and calls lead each time it wins. The context of lead ends
// when leadership is lost, by this process's own clock: 3 s after the last request for the lease
// that was answered was sent, while etcd holds the lease for 5. When lead returns, it resigns.
func (s *Store) Lead(ctx context.Context, c Candidate, lead func(context.Context, *Tenure)) error {
	if c.Replica == "" || c.Address == "" {
		return fmt.Errorf("candidate %q at %q: %w: want a name and an address", c.Replica, c.Address, ErrInvalid)
	}
	for ctx.Err() == nil {
		if t := s.campaign(ctx, c); t != nil {
			s.reign(ctx, t, lead)
			_ = pause(ctx, s.pace.rest) // the loop sees ctx end
		}
	}
	return ctx.Err()
}

// campaign waits until nobody leads and stands then. A candidate holds no lease while it
// waits, so that there is none to lose unnoticed. Nil: ctx ended.
func (s *Store) campaign(ctx context.Context, c Candidate) *Tenure {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var won *Tenure
	v := vigil{store: s, spans: []span{under(s.elections())}, every: s.pace.renew}
	v.look = func(ctx context.Context, _ time.Time) (int64, error) {
		leader, seen, err := s.leader(ctx)
		if err != nil || leader != nil {
			return seen, err
		}
		if won, err = s.stand(ctx, c); won != nil {
			cancel()
		}
		if errors.Is(err, ErrNoSpace) {
			err = errors.Join(err, s.relieve(ctx)) // nobody can lead, and tend, before
		}
		return seen, err
	}
	_ = v.run(ctx) // it ends with ctx
	return won
}

// stand takes the lead if nobody has it. Nil: somebody was faster.
func (s *Store) stand(ctx context.Context, c Candidate) (*Tenure, error) {
	ctx, cancel := context.WithTimeout(ctx, s.pace.stop)
	defer cancel()
	value, err := proto.Marshal(&pb.StoredLeader{Replica: c.Replica, Address: c.Address, Since: timestamppb.Now()})
	if err != nil {
		return nil, err
	}
	sent := s.now()
	lease, err := s.client.Grant(ctx, int64(s.pace.ttl/time.Second))
	if err != nil {
		return nil, classify("campaign", err)
	}
	t := &Tenure{key: fmt.Sprintf("%s%016x", s.elections(), lease.ID), lease: lease.ID, now: s.now, stop: s.pace.stop}
	t.renewed(sent)
	nobody := clientv3.Compare(clientv3.CreateRevision(s.elections()), "=", 0).WithPrefix()
	got, err := s.do(ctx, clientv3.OpTxn([]clientv3.Cmp{nobody},
		[]clientv3.Op{clientv3.OpPut(t.key, string(value), clientv3.WithLease(lease.ID)), clientv3.OpGet(t.key)}, nil))
	if err != nil || !got.Txn().Succeeded {
		s.resign(ctx, lease.ID)
		return nil, classify("campaign", err)
	}
	t.term = uint64(got.Txn().Responses[1].GetResponseRange().Kvs[0].CreateRevision)
	return t, nil
}

// reign leads until lead returns.
func (s *Store) reign(ctx context.Context, t *Tenure, lead func(context.Context, *Tenure)) {
	leading, cancel := context.WithCancel(ctx)
	t.cancel = cancel
	var renewing sync.WaitGroup
	renewing.Go(func() { s.keep(leading, t) })
	if ctx.Err() == nil {
		lead(leading, t)
	}
	t.lose()
	renewing.Wait()
	s.resign(ctx, t.lease)
}

// resign gives the lease back, so that others need not wait for its end. It tries twice:
// one member of etcd may hang.
func (s *Store) resign(ctx context.Context, id clientv3.LeaseID) {
	for range 2 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.pace.answer)
		_, err := s.client.Revoke(ctx, id)
		cancel()
		if err == nil {
			return
		}
	}
}

func (s *Store) elections() string { return elections(s.config.namespace()) }
