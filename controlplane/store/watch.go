package store

import (
	"context"
	"fmt"
	"sync"
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

// Watch delivers the newest state until ctx ends. It is level-triggered: an event says
// only that it is time to look, and a look every 5 s needs no event, so that no watch
// that is late, lost, reordered or compacted away can hold an old state for long. While
// etcd is away the last state stands.
func (s *Store) Watch(ctx context.Context, namespace string, w Watcher) error {
	k, err := keysOf(namespace)
	if err != nil {
		return err
	}
	l := lookout{store: s, keys: k, watcher: w}
	defer l.close()
	for failures := 0; ctx.Err() == nil; {
		at := time.Now()
		err := l.look(ctx, at)
		if ctx.Err() != nil {
			break
		}
		w.Confirmed(at, err)
		if err != nil {
			l.close()
			_ = pause(ctx, min(minBackoff<<min(failures, 10), maxBackoff)) // the loop sees ctx end
			failures++
			continue
		}
		failures = 0
		l.wait(ctx)
	}
	return ctx.Err()
}

// lookout is one running Watch.
type lookout struct {
	store   *Store
	keys    keys
	watcher Watcher

	held *pb.Head // last delivered
	seen int64    // etcd's revision of the last look

	news    chan struct{} // head changed; closed: the watch ended; nil: there is none
	cancel  context.CancelFunc
	watches sync.WaitGroup
}

// look reads head and overrides at one moment, and delivers them if they are news.
func (l *lookout) look(ctx context.Context, at time.Time) error {
	r, err := l.store.read(ctx, l.keys, clientv3.OpGet(l.keys.overrides(), clientv3.WithPrefix()))
	if err != nil {
		return err
	}
	overrides, err := overridesOf(r.more)
	if err != nil {
		return err
	}
	head := r.head
	if older(head, l.held) {
		return fmt.Errorf("etcd went back from generation %d to %d of store %s: a backup was restored under a running control plane",
			l.held.GetGeneration(), head.GetGeneration(), head.GetStoreId())
	}
	l.seen = r.at
	if l.held != nil && proto.Equal(l.held, head) {
		return nil
	}
	l.held = head
	l.watcher.Changed(State{Head: head, Overrides: overrides, Confirmed: at})
	return nil
}

// older says that a store lost what was delivered from it.
func older(h, held *pb.Head) bool {
	return held != nil && h.GetStoreId() == held.GetStoreId() &&
		(h.GetEpoch() < held.GetEpoch() || h.GetEpoch() == held.GetEpoch() && h.GetGeneration() < held.GetGeneration())
}

// wait returns when there may be news.
func (l *lookout) wait(ctx context.Context) {
	if l.news == nil {
		l.open(ctx)
	}
	due := time.NewTimer(l.store.confirmEvery)
	defer due.Stop()
	select {
	case _, open := <-l.news:
		if !open {
			l.close()
			_ = pause(ctx, minBackoff) // many replicas may have lost theirs at once
		}
	case <-due.C:
	case <-ctx.Done():
	}
}

// open watches head from what was seen. It does not wait: a watch of an etcd that is away
// begins when that comes back.
func (l *lookout) open(ctx context.Context) {
	ctx, l.cancel = context.WithCancel(clientv3.WithRequireLeader(ctx))
	news, from := make(chan struct{}, 1), l.seen+1
	l.news = news
	l.watches.Go(func() {
		defer close(news)
		for r := range l.store.client.Watch(ctx, l.keys.head(), clientv3.WithRev(from)) {
			if r.Err() != nil {
				return
			}
			select {
			case news <- struct{}{}:
			default:
			}
		}
	})
}

func (l *lookout) close() {
	if l.cancel != nil {
		l.cancel()
	}
	l.watches.Wait()
	l.news, l.cancel = nil, nil
}
