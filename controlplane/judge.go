package controlplane

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	maxArrivals = 1024            // messages that wait to be judged
	fleetPace   = 50 * 1000       // µs between two states of the fleet, unless a breaker opens
	termAgain   = 2 * time.Second // after etcd gave no term
	idleTick    = int64(1e6)      // µs; a tick at least so often
)

// arrival is a message from below, with the time that its ages are of.
type arrival struct {
	report *pb.Report
	at     int64
}

// judge owns the fleet's breakers: all news reaches them on its one goroutine.
type judge struct {
	term   func(context.Context) (uint64, error)
	now    func() int64
	origin *origin
	grant  func(at int64, g *pb.Grant) bool
	log    hclog.Logger

	arrivals chan arrival
	lost     atomic.Uint64
	catalog  atomic.Pointer[route.Catalog] // the newest, until it was taken
	wake     chan struct{}
}

func (j *judge) poke() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// report takes a message from below. When too many wait, it is lost, and counted.
func (j *judge) report(at int64, r *pb.Report) {
	select {
	case j.arrivals <- arrival{r, at}:
	default:
		j.lost.Add(1)
	}
}

// apply takes a catalog.
func (j *judge) apply(c *route.Catalog) {
	j.catalog.Store(c)
	j.poke()
}

// run judges until ctx ends. It begins when there is a catalog and etcd gave a term.
func (j *judge) run(ctx context.Context) {
	first := j.firstCatalog(ctx)
	term := j.begin(ctx)
	if ctx.Err() != nil {
		return
	}
	s := newSession(j, term)
	s.apply(first)
	j.log.Info("judging", "term", term)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-j.arrivals:
			s.observe(a)
		case <-j.wake:
			if c := j.catalog.Swap(nil); c != nil {
				s.apply(c)
			}
		case <-timer.C:
		}
		now := j.now()
		timer.Reset(time.Duration(s.settle(now)-now) * time.Microsecond)
	}
}

func (j *judge) firstCatalog(ctx context.Context) *route.Catalog {
	for {
		if c := j.catalog.Swap(nil); c != nil {
			return c
		}
		select {
		case <-ctx.Done():
			return &route.Catalog{}
		case <-j.wake:
		case <-j.arrivals: // of a fleet that nobody knows yet
		}
	}
}

// begin asks for a term until there is one.
func (j *judge) begin(ctx context.Context) uint64 {
	for {
		term, err := j.term(ctx)
		if err == nil {
			return term
		}
		select {
		case <-ctx.Done():
			return 0
		case <-time.After(termAgain):
		}
	}
}
