package agent

import (
	"context"
	"sync"
	"time"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// shelf keeps the catalogs that came down and serves them with this node's drains over them.
// One goroutine publishes, so that no view hears of a state after a newer one.
type shelf struct {
	drains  *drains
	now     func() int64
	publish func(hub.View, *wire.State)
	wake    chan struct{}

	mu    sync.Mutex
	views map[string]*held // by the view's key
}

// held is one view's catalog as it came.
type held struct {
	view    hub.View
	catalog *wire.State
	changed bool
}

func newShelf(now func() int64, publish func(hub.View, *wire.State)) *shelf {
	return &shelf{drains: newDrains(now), now: now, publish: publish, wake: make(chan struct{}, 1), views: map[string]*held{}}
}

func (s *shelf) put(v hub.View, catalog *wire.State) {
	s.mu.Lock()
	s.views[v.Key()] = &held{v, catalog, true}
	s.mu.Unlock()
	s.poke()
}

func (s *shelf) drop(v hub.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.views, v.Key())
}

// again serves all of them anew: the drains changed.
func (s *shelf) again() {
	s.mu.Lock()
	for _, h := range s.views {
		h.changed = true
	}
	s.mu.Unlock()
	s.poke()
}

func (s *shelf) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run serves until ctx ends, and lets drains end in time.
func (s *shelf) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	ends := int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		now := s.now()
		if ends > 0 && now >= ends {
			s.again()
		}
		if ends = s.drains.next(); ends > 0 {
			timer.Reset(time.Duration(max(ends-now, 0)) * time.Microsecond)
		}
		s.serve()
	}
}

func (s *shelf) serve() {
	s.mu.Lock()
	var due []held
	for _, h := range s.views {
		if h.changed {
			due = append(due, *h)
			h.changed = false
		}
	}
	s.mu.Unlock()
	for _, h := range due {
		s.publish(h.view, s.drains.over(h.catalog))
	}
}

// has tells whether an endpoint, or the endpoint of an instance, is in any of the views.
func (s *shelf) has(endpoint string) bool {
	key := wire.Key{Kind: pb.Kind_KIND_ENDPOINT, Name: route.Declared(endpoint)}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.views {
		if _, ok := h.catalog.Lookup(key); ok {
			return true
		}
	}
	return false
}
