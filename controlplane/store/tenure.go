package store

import (
	"context"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Tenure is one time of leading. Its writes are fenced: each compares the election key's
// create revision, so that what a former leader still writes changes nothing. What never
// reaches etcd is fenced by Holds.
type Tenure struct {
	key    string
	term   uint64
	lease  clientv3.LeaseID
	now    func() time.Time
	stop   time.Duration
	cancel context.CancelFunc // of lead's context

	sent atomic.Pointer[time.Time] // of the last request for the lease that was answered
	lost atomic.Bool
}

// Term is the create revision of the election key: above every earlier term's.
func (t *Tenure) Term() uint64 { return t.term }

// Holds says whether this process leads now, by its own clock. Once false, it stays false.
func (t *Tenure) Holds() bool {
	if t.lost.Load() {
		return false
	}
	if t.left() > 0 {
		return true
	}
	t.lose()
	return false
}

// left is how long it holds if no request is answered any more. The wall clock counts
// too: the monotonic one stands still while a host is suspended.
func (t *Tenure) left() time.Duration {
	now, sent := t.now(), *t.sent.Load()
	return t.stop - max(now.Sub(sent), now.Round(0).Sub(sent.Round(0)))
}

func (t *Tenure) renewed(sent time.Time) { t.sent.Store(&sent) }

func (t *Tenure) lose() {
	t.lost.Store(true)
	t.cancel()
}

// check is asked before each write, as the fence is by it.
func (t *Tenure) check() error {
	if t.Holds() {
		return nil
	}
	return ErrLost
}

// fence compares what only this tenure has.
func (t *Tenure) fence() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(t.key), "=", int64(t.term))
}

// look goes into the branch of a transaction that failed; lostBy reads its answer.
func (t *Tenure) look() clientv3.Op { return clientv3.OpGet(t.key, clientv3.WithKeysOnly()) }

// lostBy says whether a transaction failed because the key is not this tenure's any more.
func (t *Tenure) lostBy(r *clientv3.TxnResponse) bool {
	kvs := r.Responses[0].GetResponseRange().Kvs
	if len(kvs) == 1 && kvs[0].CreateRevision == int64(t.term) {
		return false
	}
	t.lose()
	return true
}

// fenced applies ops if when holds and t leads. False: when did not hold. What may be
// written once only compares what it changes: an answer may be lost.
func (s *Store) fenced(ctx context.Context, t *Tenure, when []clientv3.Cmp, ops []clientv3.Op) (bool, error) {
	if err := t.check(); err != nil {
		return false, err
	}
	got, err := s.do(ctx, clientv3.OpTxn(append(when, t.fence()), ops, []clientv3.Op{t.look()}))
	if err != nil {
		return false, classify("write as leader", err)
	}
	if !got.Txn().Succeeded && t.lostBy(got.Txn()) {
		return false, ErrLost
	}
	return got.Txn().Succeeded, nil
}
