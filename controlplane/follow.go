package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const loadAgain = time.Second // after a revision could not be read

// follower makes a catalog state of each head that the store tells of.
type follower struct {
	store     *store.Store
	namespace string
	now       func() int64
	origin    *origin
	judge     func(*route.Catalog)
	log       hclog.Logger
	wake      chan struct{}

	mu     sync.Mutex
	newest *store.State

	revision  uint64 // what resources are of; the loading goroutine's own, as is the next
	resources []*pb.Resource
}

// watch hears of heads until ctx ends.
func (f *follower) watch(ctx context.Context) {
	_ = f.store.Watch(ctx, f.namespace, store.Watcher{Changed: f.changed, Confirmed: f.confirmed}) // it ends with ctx
}

func (f *follower) changed(s store.State) {
	f.mu.Lock()
	f.newest = &s
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *follower) confirmed(at time.Time, err error) {
	if !f.origin.confirm(at, err) {
		return
	}
	if err != nil {
		f.log.Warn("etcd is away: serving what is held, taking no changes", "error", err)
		return
	}
	f.log.Info("etcd answers again")
}

// load loads the newest head's revision and has it served, until ctx ends.
func (f *follower) load(ctx context.Context) {
	var again <-chan time.Time // after a failure
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case <-again:
		}
		again = nil
		f.mu.Lock()
		s := f.newest
		f.mu.Unlock()
		if err := f.serve(ctx, s); err != nil && ctx.Err() == nil {
			f.log.Error("a revision cannot be served: serving what is held", "revision", s.Head.GetServing(), "error", err)
			again = time.After(loadAgain + rand.N(loadAgain))
		}
	}
}

func (f *follower) serve(ctx context.Context, s *store.State) error {
	h := s.Head
	if n := h.GetServing(); n != f.revision {
		_, content, err := f.store.Revision(ctx, f.namespace, n)
		if err != nil {
			return err
		}
		f.revision, f.resources = n, content.GetResources()
	}
	var state *wire.State
	if f.revision != 0 {
		var err error
		if state, err = f.decode(s); err != nil {
			return err
		}
	}
	f.origin.serve(s, state)
	f.log.Info("serving", "generation", h.GetGeneration(), "revision", h.GetServing(), "published", h.GetPublished(), "overrides", len(s.Overrides))
	return nil
}

// decode makes the state, and gives what this build understands of it to the judge.
func (f *follower) decode(s *store.State) (*wire.State, error) {
	state, err := catalogState(f.now(), s, f.resources)
	if err != nil {
		return nil, err
	}
	core, unusable, err := wire.Catalog(state, true)
	if err != nil {
		return nil, err
	}
	for _, u := range unusable {
		f.log.Warn("a workload cannot be used by this build", "workload", u.GetWorkload(), "reason", u.GetReason())
	}
	f.judge(core)
	return state, nil
}

// catalogState is the effective catalog: a revision's resources with the overrides, each
// dated when it was set.
func catalogState(now int64, s *store.State, resources []*pb.Resource) (*wire.State, error) {
	entries := catalog.Entries(resources)
	for _, o := range s.Overrides {
		r, err := wire.Override(o.GetOverride())
		if err != nil {
			return nil, fmt.Errorf("override of endpoint %q: %w", o.GetOverride().GetEndpoint(), err)
		}
		age := max(0, time.Since(o.GetSet().AsTime())).Microseconds()
		entries[wire.Key{Kind: r.GetKind(), Name: r.GetName()}] = wire.Entry{Body: r.GetBody(), Hash: wire.HashOf(r.GetBody()), At: now - age}
	}
	return wire.NewState(pb.Track_TRACK_CATALOG, &pb.Version{
		StoreId: s.Head.GetStoreId(), Epoch: s.Head.GetEpoch(), Generation: s.Head.GetGeneration(), Revision: s.Head.GetServing(),
	}, entries), nil
}
