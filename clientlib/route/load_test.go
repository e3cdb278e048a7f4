package route_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

const (
	outstanding = 512
	answersIn   = 100    // picks until a first token
	applyEvery  = 20_000 // picks
	pace        = 50     // µs a pick
	lasts       = 500_000
	loadFrom    = 1_000_000
)

// load is a router under load: each pick is of one of 64 shapes, marks the first token of
// the attempt that was picked 100 picks before and settles the one of 512 before. The
// fleet's rows would grow old for ever, so it begins again after 25 s of its own time.
type load struct {
	router    *route.Router
	snapshots [2]*route.Snapshot
	shapes    [64]route.Request
	outcomes  [100]route.Outcome

	now     int64
	n       uint32
	ring    [outstanding]flight
	failure error
}

type flight struct {
	call    route.Call
	attempt route.Attempt
}

func newLoad(tb testing.TB, strategy route.Strategy, endpoints int) *load {
	return newLoadOf(tb, loadCatalog(strategy, endpoints))
}

// newHomed has calls of 64 sessions, which have homes.
func newHomed(tb testing.TB, strategy route.Strategy, endpoints int, rule route.AffinityRule) *load {
	c := loadCatalog(strategy, endpoints)
	c.Workloads[0].Affinity = route.Affinity{On: route.AffinitySession, Rule: rule, Slack: 2}
	l := newLoadOf(tb, c)
	for i := range l.shapes {
		l.shapes[i].Session = fmt.Sprint("session ", i)
	}
	return l
}

func newLoadOf(tb testing.TB, c *route.Catalog) *load {
	l, endpoints := &load{}, len(c.Endpoints)
	for i := range l.snapshots {
		var prev *route.Snapshot
		if i > 0 {
			prev = l.snapshots[0]
		}
		l.snapshots[i] = compile(tb, prev, c, loadFleet(endpoints, i))
	}
	for i := range l.shapes {
		l.shapes[i] = shape(i)
	}
	for i := range l.outcomes {
		l.outcomes[i] = route.Outcome{Kind: route.Served, HasUsage: true, Usage: money.Usage{Input: 100 * int64(i+1), Output: 10 * int64(i+1)}}
	}
	l.outcomes[31] = route.Outcome{Kind: route.Faulted, Status: 500}
	l.begin()
	return l
}

// begin starts on a fresh router and has every endpoint of a large fleet used.
func (l *load) begin() {
	l.router, l.now, l.n, l.ring = route.NewRouter(), loadFrom, 0, [outstanding]flight{}
	l.router.Apply(l.now, l.snapshots[0])
	for l.n < 2*applyEvery {
		l.run()
	}
}

// run is one pick with all that goes with it.
func (l *load) run() {
	f, u := l.turn()
	l.router.Settle(l.now, f.attempt, l.outcomes[u%100])
	l.router.FirstToken(l.now, l.ring[(l.n-answersIn)%outstanding].attempt)
	f.call = l.router.Begin(l.now, "w", l.shapes[u>>26])
	step := l.router.Next(l.now, u, &f.call)
	f.attempt = step.Attempt
	if step.Err != nil {
		l.failure = step.Err
	}
	if l.n%applyEvery == 0 {
		l.router.Apply(l.now, l.snapshots[l.n/applyEvery%2])
	}
}

// turn moves time on and gives the flight whose turn it is, and chance.
func (l *load) turn() (*flight, uint32) {
	l.n++
	l.now += pace
	return &l.ring[l.n%outstanding], route.Draw(l.n, 0)
}

// idle is what the load itself costs: run without a router.
func (l *load) idle() {
	f, u := l.turn()
	f.attempt = l.ring[(l.n-answersIn)%outstanding].attempt
	if l.outcomes[u%100].Kind == route.Abandoned || l.shapes[u>>26].API != "" || l.n%applyEvery == 0 {
		l.failure = nil
	}
}

// shape is one of 64: streamed or not, with tools or not, short or long, in eight sizes.
func shape(i int) route.Request {
	q := route.Request{Stream: i&1 != 0, Input: int64(500 + 2000*(i>>3)), MaxOutput: int64(256 + 200*(i>>3))}
	if i&2 != 0 {
		q.Needs = []string{"tools"}
	}
	if i&4 != 0 {
		q.Input += 32_000 + 10_000*int64(i>>3)
	}
	return q
}

var windows = [...]int64{32_000, 128_000, 200_000, 1_000_000}

// loadCatalog has a quota of three dimensions for each four endpoints, none of which is
// ever exhausted, and endpoints of four sizes and many weights.
func loadCatalog(strategy route.Strategy, endpoints int) *route.Catalog {
	s := newStage()
	tier := ""
	for i := range endpoints {
		name := fmt.Sprintf("e%04d", i)
		tier += "," + name
		s.declare(parse(fmt.Sprintf("endpoint %s model=m%d identity=%d weight=%d window=%d price=%d/%d quotas=q%03d ttft_limit=10s",
			name, i%3, i+1, 50+i%100, windows[i%4], 1+i%3, 3+i%5, i/4)))
		if i%2 == 0 {
			s.catalog.Endpoints[i].Concurrency = 4000
		}
		if i%4 == 0 {
			s.catalog.Quotas = append(s.catalog.Quotas, route.Quota{
				Name: fmt.Sprintf("q%03d", i/4), Requests: 10_000_000, Tokens: route.Absent, Input: 100_000_000_000, Output: 10_000_000_000, Daily: route.Absent,
			})
		}
	}
	w := s.workload(parse("workload w money_per_ms=1000 tiers=all:" + tier[1:]))
	w.Strategy, w.Bands = strategy, bands("small:8000:m0;large::m1,m2")
	s.catalog.Workloads = []route.Workload{w}
	s.catalog.Version.Generation = 1
	return &s.catalog
}

// loadFleet has a row for every endpoint; one of twenty is open or ramps. The rows of
// twenty endpoints are another version's own.
func loadFleet(endpoints, version int) *route.Fleet {
	f := &route.Fleet{}
	for i := range endpoints {
		row := route.FleetEndpoint{
			Name: fmt.Sprintf("e%04d", i), Identity: uint64(i + 1), At: loadFrom, Speed: 1,
			Loads: []route.FleetLoad{{Locality: "a", InFlight: uint64(i % 40), Successes: 50, Samples: 50, Slowdown: 1, SlowdownSamples: 50}, {Locality: "b", InFlight: 3}},
		}
		if i%max(endpoints/20, 1) == 3 && version == 1 {
			row.At, row.Loads[0].InFlight = loadFrom+1, uint64(i%30)
		}
		if i%20 == 7 {
			row.Breakers = []route.FleetBreaker{standingOf(i / 20)}
		}
		f.Endpoints = append(f.Endpoints, row)
	}
	return f
}

// standingOf is open or ramping in turn, class by class, for longer than the load lasts.
func standingOf(i int) route.FleetBreaker {
	b := route.FleetBreaker{Class: breaker.Class(i / 2 % 4), Round: 1, State: route.FleetOpen, OpenUntil: 3_600_000_000}
	if i%2 != 0 {
		b.State, b.RampFrom, b.RampFor, b.RampSuccesses = route.FleetRamp, loadFrom, 3_600_000_000, 100
	}
	return b
}

// padded is a generator on cache lines of its own.
type padded struct {
	_ [64]byte
	*rand.Rand
	pcg rand.PCG
	_   [64]byte
}

// yardstick is how many nanoseconds this machine needs for a bare choice of two among a
// hundred counters. A machine on which it is not within 5 and 40 ns is no measure.
func yardstick() (ns float64, valid bool) {
	const picks = 1_000_000
	g := &padded{}
	g.pcg.Seed(1, 2)
	g.Rand = rand.New(&g.pcg)
	var counters [100]int64
	best := time.Duration(1 << 62)
	for range 10 {
		began := time.Now()
		for range picks {
			a, b := &counters[g.IntN(len(counters))], &counters[g.IntN(len(counters))]
			if *b < *a {
				a = b
			}
			*a++
		}
		best = min(best, time.Since(began))
	}
	ns = float64(best.Nanoseconds()) / picks
	return ns, ns >= 5 && ns <= 40
}
