package store

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestOnlyWhatMayWriteIsCounted(t *testing.T) {
	get, put := clientv3.OpGet("a"), clientv3.OpPut("a", "b")
	var s Store
	for _, op := range []clientv3.Op{
		get, clientv3.OpTxn(nil, []clientv3.Op{get, get}, nil), // reads
		put, clientv3.OpDelete("a"), clientv3.OpTxn(nil, []clientv3.Op{get, put}, nil), clientv3.OpTxn(nil, []clientv3.Op{get}, []clientv3.Op{put}),
	} {
		s.counts.count(op, time.Second, nil)
	}
	s.counts.count(put, time.Second, errors.New("away"))
	s.counts.count(get, time.Second, errors.New("away"))
	if diff := cmp.Diff(Figures{Writes: 5, Failed: 1, Took: 5 * time.Second}, s.Figures()); diff != "" {
		t.Error(diff)
	}
}
