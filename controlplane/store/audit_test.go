package store

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// grantMany makes n audit records.
func grantMany(t *testing.T, s *Store, n int) {
	t.Helper()
	for i := range n {
		must(t, s.PutRole(t.Context(), ns, &pb.RoleBinding{Identity: fmt.Sprint("cn/", i), Role: "reader", Actor: []string{"ann", "bob"}[i%2]}))
	}
}

func verify(t *testing.T, s *Store) *pb.VerifyAuditResponse {
	t.Helper()
	v, err := s.VerifyAudit(t.Context(), ns)
	must(t, err)
	return v
}

func TestTheAuditIsListedOldestFirst(t *testing.T) {
	s := open(t)
	grantMany(t, s, 5)
	middle := time.Now()
	grantMany(t, s, 1)
	for _, c := range []struct {
		name string
		q    AuditQuery
		want []uint64
	}{
		{"all", AuditQuery{}, []uint64{1, 2, 3, 4, 5, 6}},
		{"of one actor", AuditQuery{Actor: "bob"}, []uint64{2, 4}},
		{"two after the first", AuditQuery{After: 1, Limit: 2}, []uint64{2, 3}},
		{"since", AuditQuery{Since: middle}, []uint64{6}},
		{"after the last", AuditQuery{After: 6}, nil},
	} {
		got, err := s.Audit(t.Context(), ns, c.q)
		must(t, err)
		var numbers []uint64
		for _, a := range got {
			numbers = append(numbers, a.Record.GetNumber())
		}
		if diff := cmp.Diff(c.want, numbers); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestEachRecordIsToldWithItsHashAfterItIsCommitted(t *testing.T) {
	s := open(t)
	var told []string
	s.config.Audited = func(r *pb.AuditRecord, hash []byte) {
		told = append(told, fmt.Sprintf("%d %x", r.GetNumber(), hash))
	}
	grantMany(t, s, 2)
	s.client.KV = &lossy{KV: s.client.KV} // of the next one, the answer
	grantMany(t, s, 1)
	all, err := s.Audit(t.Context(), ns, AuditQuery{})
	must(t, err)
	var want []string
	for _, a := range all {
		want = append(want, fmt.Sprintf("%d %x", a.Record.GetNumber(), a.Hash))
	}
	if diff := cmp.Diff(want, told); diff != "" || len(told) != 3 {
		t.Fatalf("(-kept +told):\n%s", diff)
	}
}

func TestAChainThatWasTouchedIsFound(t *testing.T) {
	k := keys(root + ns + "/")
	change := func(t *testing.T, s *Store, key string) {
		got, err := s.client.Get(t.Context(), key)
		must(t, err)
		r := &pb.AuditRecord{}
		must(t, proto.Unmarshal(got.Kvs[0].Value, r))
		r.Actor = "eve"
		b, err := proto.Marshal(r)
		must(t, err)
		_, err = s.client.Put(t.Context(), key, string(b))
		must(t, err)
	}
	remove := func(t *testing.T, s *Store, key string) {
		_, err := s.client.Delete(t.Context(), key)
		must(t, err)
	}
	for name, c := range map[string]struct {
		touch func(t *testing.T, s *Store)
		fault string
	}{
		"nothing":         {func(*testing.T, *Store) {}, ""},
		"one changed":     {func(t *testing.T, s *Store) { change(t, s, k.audit(3)) }, "record 4 does not follow record 3: one of them was changed"},
		"the first gone":  {func(t *testing.T, s *Store) { remove(t, s, k.audit(1)) }, "records 1 to 1 are missing"},
		"one gone":        {func(t *testing.T, s *Store) { remove(t, s, k.audit(4)) }, "records 4 to 4 are missing"},
		"the last gone":   {func(t *testing.T, s *Store) { remove(t, s, k.audit(6)) }, "records 6 to 6 are missing"},
		"the last change": {func(t *testing.T, s *Store) { change(t, s, k.audit(6)) }, "record 6 is not the last that was written"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			grantMany(t, s, 6)
			c.touch(t, s)
			v := verify(t, s)
			if v.GetFault() != c.fault {
				t.Fatalf("fault %q, want %q", v.GetFault(), c.fault)
			}
			if c.fault == "" && (v.GetRecords() != 6 || v.GetFirst() != 1 || v.GetLast() != 6 || len(v.GetHash()) != sha256.Size) {
				t.Fatal(v)
			}
		})
	}
}

func TestAnEmptyAuditVerifies(t *testing.T) {
	if v := verify(t, open(t)); v.GetFault() != "" || v.GetRecords() != 0 {
		t.Fatal(v)
	}
}

// writeAudit makes a chain of n records by hand, one each day up to now.
func writeAudit(t *testing.T, s *Store, n int) {
	t.Helper()
	k := keys(root + ns + "/")
	var before []byte
	var ops []clientv3.Op
	for i := range n {
		r := &pb.AuditRecord{Number: uint64(i + 1), Time: timestamppb.New(t0.Add(-time.Duration(n-1-i) * 24 * time.Hour)), Actor: "ann", PreviousHash: before}
		b, err := proto.Marshal(r)
		must(t, err)
		hash := sha256.Sum256(b)
		before = hash[:]
		ops = append(ops, clientv3.OpPut(k.audit(r.GetNumber()), string(b)))
		if i == n-1 {
			ops = append(ops, clientv3.OpPut(k.tail(), string(b)))
		}
		if len(ops) >= 100 || i == n-1 {
			_, err := s.client.Txn(t.Context()).Then(ops...).Commit()
			must(t, err)
			ops = nil
		}
	}
}

func TestAnOldAuditIsCutAndWhatIsLeftStillVerifies(t *testing.T) {
	s := open(t)
	tenure := leads(t, s, "a")
	writeAudit(t, s, auditLeast+50) // the oldest of them are 1050 days old
	tend(t, s, tenure, Keep{Now: t0})
	v := verify(t, s)
	if v.GetFault() != "" || v.GetFirst() != 51 || v.GetRecords() != auditLeast {
		t.Fatal(v)
	}
	grantMany(t, s, 500)
	tend(t, s, tenure, Keep{Now: t0})
	v = verify(t, s)
	if v.GetFault() != "" || v.GetFirst() != 551 || v.GetLast() != auditLeast+550 {
		t.Fatal(v)
	}
	tend(t, s, tenure, Keep{Now: t0.Add(2 * auditAge)})
	if v := verify(t, s); v.GetRecords() != auditLeast {
		t.Fatalf("the newest are kept whatever their age: %v", v)
	}
	_, err := s.client.Delete(t.Context(), keys(root+ns+"/").audit(551))
	must(t, err)
	if v := verify(t, s); !strings.Contains(v.GetFault(), "records 551 to 551 are missing") {
		t.Fatal(v)
	}
}
