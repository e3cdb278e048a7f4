package store

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// span is a range of keys; end "": from alone.
type span struct{ from, end string }

func under(prefix string) span { return span{prefix, clientv3.GetPrefixRangeEnd(prefix)} }

// vigil looks at something until its context ends. It is level-triggered: an event on one
// of spans says only that it is time to look, and a look each every needs no event, so that
// no watch that is late, lost, reordered or compacted away can hide news for long.
type vigil struct {
	store *Store
	spans []span
	every time.Duration
	// look gives etcd's revision of what it saw.
	look func(ctx context.Context, at time.Time) (int64, error)
	// heard, which may be nil, is told how each look ended.
	heard func(at time.Time, err error)

	seen    int64         // etcd's revision of the last look
	news    chan struct{} // there may be some; nil: nothing is watched
	broken  chan struct{} // a watch ended
	cancel  context.CancelFunc
	watches sync.WaitGroup
}

func (v *vigil) run(ctx context.Context) error {
	defer v.close()
	for failures := 0; ctx.Err() == nil; {
		at := time.Now()
		seen, err := v.look(ctx, at)
		if ctx.Err() != nil {
			break
		}
		if v.heard != nil {
			v.heard(at, err)
		}
		if err != nil {
			v.close()
			_ = pause(ctx, min(minBackoff<<min(failures, 10), maxBackoff, v.every)) // the loop sees ctx end
			failures++
			continue
		}
		failures, v.seen = 0, seen
		v.wait(ctx)
	}
	return ctx.Err()
}

// wait returns when there may be news.
func (v *vigil) wait(ctx context.Context) {
	if v.news == nil {
		v.open(ctx)
	}
	due := time.NewTimer(v.every)
	defer due.Stop()
	select {
	case <-v.news:
	case <-v.broken:
		v.close()
		_ = pause(ctx, minBackoff) // many replicas may have lost theirs at once
	case <-due.C:
	case <-ctx.Done():
	}
}

// open watches from what was seen. It does not wait: a watch of an etcd that is away
// begins when that comes back.
func (v *vigil) open(ctx context.Context) {
	ctx, v.cancel = context.WithCancel(clientv3.WithRequireLeader(ctx))
	news, broken, from := make(chan struct{}, 1), make(chan struct{}, len(v.spans)), v.seen+1
	v.news, v.broken = news, broken
	for _, sp := range v.spans {
		opts := []clientv3.OpOption{clientv3.WithRev(from)}
		if sp.end != "" {
			opts = append(opts, clientv3.WithRange(sp.end))
		}
		v.watches.Go(func() {
			for r := range v.store.client.Watch(ctx, sp.from, opts...) {
				if r.Err() != nil {
					break
				}
				select {
				case news <- struct{}{}:
				default:
				}
			}
			broken <- struct{}{}
		})
	}
}

func (v *vigil) close() {
	if v.cancel != nil {
		v.cancel()
	}
	v.watches.Wait()
	v.news, v.broken, v.cancel = nil, nil, nil
}
