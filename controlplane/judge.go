package controlplane

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	maxArrivals = 1024       // messages that wait to be judged
	fleetPace   = 50 * 1000  // µs between two states of the fleet, unless a breaker opens
	idleTick    = int64(1e6) // µs; a tick at least so often
)

// arrival is a message from below, with the time that its ages are of.
type arrival struct {
	report *pb.Report
	at     int64
}

// judge owns the fleet's breakers while this replica leads: all news reaches them on the
// one goroutine of its term.
type judge struct {
	now    func() int64
	origin *origin
	grant  func(at int64, g *pb.Grant) bool
	events *diary
	log    hclog.Logger

	arrivals  chan arrival
	lost      atomic.Uint64
	catalog   atomic.Pointer[route.Catalog]          // the newest
	instances atomic.Pointer[[]route.FleetInstances] // the newest of this term
	wake      chan struct{}
	catalogs  chan *route.Catalog // the newest, for who resolves instances
}

func newJudge(now func() int64, o *origin, events *diary, log hclog.Logger) *judge {
	return &judge{
		now: now, origin: o, events: events, log: log,
		arrivals: make(chan arrival, maxArrivals), wake: make(chan struct{}, 1), catalogs: make(chan *route.Catalog, 1),
	}
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
	select {
	case <-j.catalogs: // an older one
	default:
	}
	select {
	case j.catalogs <- c:
	default:
	}
}

// resolved takes the addresses that were found for endpoints: all there are.
func (j *judge) resolved(in []route.FleetInstances) {
	j.instances.Store(&in)
	j.poke()
}

// run judges in the name of a term until ctx ends, or the term is lost. It begins when there
// is a catalog, and goes on from the overlay that this replica held.
func (j *judge) run(ctx context.Context, t term) {
	if !j.ready(ctx) {
		return
	}
	s := newSession(j, t)
	s.begin(j.origin.state().Fleet)
	j.log.Info("judging", "term", t.number)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-j.arrivals:
			s.observe(a)
		case <-j.wake:
			s.apply()
		case <-timer.C:
		}
		now := j.now()
		next, leads := s.settle(now)
		if !leads {
			return
		}
		timer.Reset(time.Duration(next-now) * time.Microsecond)
	}
}

// forget drops what came in an earlier term.
func (j *judge) forget() {
	j.instances.Store(nil)
	for {
		select {
		case <-j.arrivals:
		default:
			return
		}
	}
}

// ready waits for a first catalog; false: ctx ended.
func (j *judge) ready(ctx context.Context) bool {
	for j.catalog.Load() == nil {
		select {
		case <-ctx.Done():
			return false
		case <-j.wake:
		case <-j.arrivals: // of a fleet that nobody knows yet
		}
	}
	return true
}

// resolver finds instances for the judge, beginning with those that are held.
func (j *judge) resolver(r *resolver) func(context.Context) {
	return func(ctx context.Context) {
		held, err := wire.Fleet(j.origin.state().Fleet)
		if err != nil {
			held = &route.Fleet{}
		}
		if c := j.catalog.Load(); c != nil {
			j.apply(c) // an earlier term may have taken it
		}
		r.run(ctx, held.Instances, j.catalogs, j.resolved)
	}
}
