package store

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Term is a number above all that were ever given out here: etcd's revision of a write.
func (s *Store) Term(ctx context.Context) (uint64, error) {
	got, err := s.do(ctx, clientv3.OpPut(termKey, ""))
	if err != nil {
		return 0, classify("begin a term", err)
	}
	return uint64(got.Put().Header.Revision), nil
}
