package store

import (
	"slices"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Figures count the requests that may write, since the store was opened. What renews leases is
// not among them.
type Figures struct {
	Writes, Failed uint64
	Took           time.Duration // all of them together
}

// counts are those of a running store.
type counts struct {
	writes, failed atomic.Uint64
	took           atomic.Int64
}

// Figures are those of now.
func (s *Store) Figures() Figures {
	return Figures{s.counts.writes.Load(), s.counts.failed.Load(), time.Duration(s.counts.took.Load())}
}

// count takes a request that has ended.
func (c *counts) count(op clientv3.Op, took time.Duration, err error) {
	if !writes(op) {
		return
	}
	c.writes.Add(1)
	c.took.Add(int64(took))
	if err != nil {
		c.failed.Add(1)
	}
}

// writes says whether a request may change anything.
func writes(op clientv3.Op) bool {
	if !op.IsTxn() {
		return op.IsPut() || op.IsDelete()
	}
	_, then, or := op.Txn()
	return slices.ContainsFunc(append(slices.Clip(then), or...), writes)
}
