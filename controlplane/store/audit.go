package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	defaultAudited = 1000
	maxAudited     = 10_000
)

// AuditQuery says which records.
type AuditQuery struct {
	Since time.Time // zero: all that are kept
	After uint64    // number; of a next page
	Limit int       // 0: 1000; 10000 at most
	Actor string    // empty: everybody's
}

// Audited is a record of what somebody did, and its SHA-256.
type Audited struct {
	Record *pb.AuditRecord
	Hash   []byte
}

// Audit lists what people did, oldest first.
func (s *Store) Audit(ctx context.Context, namespace string, q AuditQuery) ([]Audited, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, err
	}
	all, from := s.auditSeries(k), q.After+1
	if !q.Since.IsZero() {
		if from, err = all.since(ctx, from, q.Since.Add(-clocksDiffer)); err != nil {
			return nil, err
		}
	}
	limit := limited(q.Limit, defaultAudited, maxAudited)
	var out []Audited
	err = all.scan(ctx, from, func(kv *mvccpb.KeyValue) (bool, error) {
		r, err := auditOf(kv)
		if err != nil {
			return false, err
		}
		if !r.Record.GetTime().AsTime().Before(q.Since) && (q.Actor == "" || q.Actor == r.Record.GetActor()) {
			out = append(out, r)
		}
		return len(out) < limit, nil
	})
	return out, err
}

func auditOf(kv *mvccpb.KeyValue) (Audited, error) {
	hash := sha256.Sum256(kv.Value)
	a := Audited{Record: &pb.AuditRecord{}, Hash: hash[:]}
	if err := proto.Unmarshal(kv.Value, a.Record); err != nil {
		return a, fmt.Errorf("decode %s: %w", kv.Key, err)
	}
	return a, nil
}

func (s *Store) auditSeries(k keys) series {
	return series{store: s, prefix: k.audits(), time: func(b []byte) (time.Time, error) {
		r := &pb.AuditRecord{}
		err := proto.Unmarshal(b, r)
		return r.GetTime().AsTime(), err
	}}
}

// VerifyAudit checks that each record that is kept follows the one before it, and that
// none is missing at either end. Whoever may write to etcd can make a chain that fits: what Config.Audited
// told, kept elsewhere, shows that.
func (s *Store) VerifyAudit(ctx context.Context, namespace string) (*pb.VerifyAuditResponse, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, err
	}
	all, c := s.auditSeries(k), chain{}
	if all.at, err = s.auditEnds(ctx, k, &c); err != nil {
		return nil, err
	}
	err = all.scan(ctx, 0, func(kv *mvccpb.KeyValue) (bool, error) {
		c.add(kv)
		return c.fault == "" && c.last < c.tail.Record.GetNumber(), nil
	})
	if err != nil {
		return nil, err
	}
	c.end()
	if c.records == 0 {
		c.last = 0
	}
	return &pb.VerifyAuditResponse{Records: c.records, First: c.first, Last: c.last, Hash: c.hash, Fault: c.fault}, nil
}

// auditEnds reads which records there must be, and gives etcd's revision at which that is so.
func (s *Store) auditEnds(ctx context.Context, k keys, c *chain) (int64, error) {
	got, err := s.do(ctx, clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpGet(k.auditFrom()), clientv3.OpGet(k.tail())}, nil))
	if err != nil {
		return 0, classify("read the ends of the audit", err)
	}
	c.from = 1
	if kvs := got.Txn().Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		if c.from, err = strconv.ParseUint(string(kvs[0].Value), 10, 64); err != nil {
			return 0, fmt.Errorf("decode %s: %w", kvs[0].Key, err)
		}
	}
	if kvs := got.Txn().Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
		c.tail, err = auditOf(kvs[0])
	}
	return got.Txn().Header.Revision, err
}

// chain is a verification under way.
type chain struct {
	from uint64  // number of the oldest that is kept
	tail Audited // the last

	records, first, last uint64
	hash                 []byte
	fault                string
}

func (c *chain) add(kv *mvccpb.KeyValue) {
	a, err := auditOf(kv)
	n := numberIn(string(kv.Key))
	if c.records == 0 {
		c.first, c.last = n, c.from-1
	}
	switch want := c.last + 1; {
	case err != nil:
		c.fault = err.Error()
	case n > want:
		c.fault = fmt.Sprintf("records %d to %d are missing", want, n-1)
	case n < want:
		return // retention deletes it, or did not yet
	case a.Record.GetNumber() != n:
		c.fault = fmt.Sprintf("record %d says it is number %d", n, a.Record.GetNumber())
	case c.records > 0 && !bytes.Equal(a.Record.GetPreviousHash(), c.hash):
		c.fault = fmt.Sprintf("record %d does not follow record %d: one of them was changed", n, n-1)
	}
	if c.fault == "" {
		c.records, c.last, c.hash = c.records+1, n, a.Hash
	}
}

func (c *chain) end() {
	switch last := c.tail.Record.GetNumber(); {
	case c.fault != "":
	case c.records == 0 && last > 0:
		c.fault = fmt.Sprintf("records %d to %d are missing", c.from, last)
	case c.last < last:
		c.fault = fmt.Sprintf("records %d to %d are missing", c.last+1, last)
	case !bytes.Equal(c.hash, c.tail.Hash):
		c.fault = fmt.Sprintf("record %d is not the last that was written", c.last)
	}
}
