//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// digests reads what every leaf keeps on disk, and returns one version and digest, if all have the same.
func (c *cluster) digests() (*pb.Version, error) {
	var version *pb.Version
	var digest []byte
	for _, cr := range c.crowds {
		files, err := filepath.Glob(filepath.Join(cr.config.StateDir, "*", "*.state"))
		if err != nil || len(files) != cr.config.Leaves {
			return nil, fmt.Errorf("%s: %d states of %d leaves: %w", cr.name, len(files), cr.config.Leaves, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			s, err := wire.Read(1, b)
			if err != nil {
				return nil, err
			}
			if version == nil {
				version, digest = s.Version(), s.Digest()
			}
			if !proto.Equal(version, s.Version()) || !bytes.Equal(digest, s.Digest()) {
				return nil, fmt.Errorf("%s runs %v %x, others %v %x", f, s.Version(), s.Digest(), version, digest)
			}
		}
	}
	return version, nil
}

// history reads what leaders and operators wrote: events of terms that never go back, audit
// records of generations that never do.
func (c *cluster) history() (events, terms, audits int) {
	c.t.Helper()
	client, ctx := c.store()
	read := func(what string, kept func(key, value []byte)) {
		got, err := client.Get(ctx, "/pointsman/v1/default/"+what+"/", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
		if err != nil {
			c.t.Fatal(err)
		}
		for _, kv := range got.Kvs {
			kept(kv.Key, kv.Value)
		}
	}
	var term, generation uint64
	read("event", func(key, value []byte) {
		for _, e := range decoded(c.t, value, &pb.StoredEvents{}).Events {
			if e.Term < term {
				c.t.Errorf("%s: an event of term %d after term %d: %v", key, e.Term, term, e)
			}
			if e.Term > term {
				terms++
			}
			term, events = max(term, e.Term), events+1
		}
	})
	read("audit", func(key, value []byte) {
		r := decoded(c.t, value, &pb.AuditRecord{})
		if r.Generation < generation {
			c.t.Errorf("%s is of generation %d, after %d", key, r.Generation, generation)
		}
		generation, audits = r.Generation, audits+1
	})
	return events, terms, audits
}

func decoded[M proto.Message](t *testing.T, value []byte, m M) M {
	t.Helper()
	if err := proto.Unmarshal(value, m); err != nil {
		t.Fatal(err)
	}
	return m
}
