package store

import (
	"context"
	"time"

	etcdpb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

const renewAgain = 100 * time.Millisecond // after a request that failed

// renewal asks for a lease once more, and gives its time to live; 0: it is gone.
type renewal func(context.Context, clientv3.LeaseID) (int64, error)

// renewOver is one request and one answer. The client's own KeepAlive does not say when
// what was answered had been sent, and its KeepAliveOnce spins while etcd is away.
func renewOver(conn grpc.ClientConnInterface) renewal {
	leases := etcdpb.NewLeaseClient(conn)
	return func(ctx context.Context, id clientv3.LeaseID) (int64, error) {
		ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
		defer cancel() // ends the stream
		stream, err := leases.LeaseKeepAlive(ctx)
		if err != nil {
			return 0, err
		}
		if err := stream.Send(&etcdpb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil {
			return 0, err
		}
		got, err := stream.Recv()
		return got.GetTTL(), err
	}
}

// keep renews the lease until ctx ends, or t is lost.
func (s *Store) keep(ctx context.Context, t *Tenure) {
	for wait := s.pace.renew; t.Holds(); {
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(wait, t.left())):
		}
		if !t.Holds() {
			return
		}
		sent := s.now()
		ttl, err := s.ask(ctx, t)
		switch {
		case err != nil:
			wait = renewAgain
		case ttl <= 0:
			t.lose()
		default:
			t.renewed(sent)
			wait = s.pace.renew
		}
	}
}

// ask waits no longer than t holds.
func (s *Store) ask(ctx context.Context, t *Tenure) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, min(s.pace.answer, t.left()))
	defer cancel()
	return s.renew(ctx, t.lease)
}
