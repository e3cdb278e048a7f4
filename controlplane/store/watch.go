package store

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	confirmEvery = 5 * time.Second
	minBackoff   = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// State is what a namespace is to be served: never changed once it was delivered.
type State struct {
	Head      *pb.Head
	Overrides []*pb.StoredOverride
	Confirmed time.Time // when this was asked for
}

// Watcher takes what Watch learns, from one goroutine.
type Watcher struct {
	// Changed takes each state that differs from the last one delivered.
	Changed func(State)
	// Confirmed hears of every look at etcd: that the last state was still head's at that
	// time, or why it could not be known.
	Confirmed func(at time.Time, err error)
}

// Watch delivers the newest state until ctx ends. It looks when there may be news, and each
// 5 s without any. While etcd is away the last state stands.
func (s *Store) Watch(ctx context.Context, namespace string, w Watcher) error {
	k, err := keysOf(namespace)
	if err != nil {
		return err
	}
	l := lookout{store: s, keys: k, watcher: w}
	return l.vigil().run(ctx)
}

// lookout is one running Watch.
type lookout struct {
	store   *Store
	keys    keys
	watcher Watcher
	held    *pb.Head // last delivered
}

// vigil watches head alone: every act changes it, those on overrides too.
func (l *lookout) vigil() *vigil {
	return &vigil{
		store: l.store, spans: []span{{from: l.keys.head()}}, every: l.store.confirmEvery,
		look: l.look, heard: l.watcher.Confirmed,
	}
}

// look reads head and overrides at one moment, and delivers them if they are news.
func (l *lookout) look(ctx context.Context, at time.Time) (int64, error) {
	r, err := l.store.read(ctx, l.keys, clientv3.OpGet(l.keys.overrides(), clientv3.WithPrefix()))
	if err != nil {
		return 0, err
	}
	overrides, err := overridesOf(r.more)
	if err != nil {
		return 0, err
	}
	if err := l.check(r.head); err != nil {
		return 0, err
	}
	if l.held != nil && proto.Equal(l.held, r.head) {
		return r.at, nil
	}
	l.held = r.head
	l.watcher.Changed(State{Head: r.head, Overrides: overrides, Confirmed: at})
	return r.at, nil
}

// check refuses a head that is no successor of what was delivered.
func (l *lookout) check(h *pb.Head) error {
	held := l.held
	switch {
	case held == nil:
		return nil
	case held.GetStoreId() != h.GetStoreId():
		return fmt.Errorf("etcd holds store %s and no longer store %s: it was emptied or exchanged under a running control plane; restart this replica if that was meant",
			h.GetStoreId(), held.GetStoreId())
	case versionOf(held).above(versionOf(h)):
		l.store.regress(l.keys, Regression{Epoch: held.GetEpoch(), Generation: held.GetGeneration(), By: "a replica that served it"})
		return fmt.Errorf("etcd went back from generation %d to %d of store %s: a backup was restored under a running control plane: %w",
			held.GetGeneration(), h.GetGeneration(), h.GetStoreId(), ErrRegressed)
	}
	return nil
}
