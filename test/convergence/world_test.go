// Package convergence holds the fleet's judging and the leaves' routing to what they promise
// together, in virtual time: leaves are the true core, the judge is the true judge, and between
// them is a simple model of the tree and its delays.
package convergence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/controlplane/fleet"
)

// setting is one world to play.
type setting struct {
	seed       uint64
	leaves     int
	perSecond  float64 // requests of each leaf
	endpoints  int     // 0: eight
	localities []string
	alone      bool  // no fleet: local breakers only
	ramp       int64 // 0: the default
}

// world is leaves, endpoints, and the tree between the leaves and their leader.
type world struct {
	*testing.T
	clock
	setting
	rng       *rand.Rand
	catalog   *route.Catalog
	endpoints map[string]*endpoint
	leaves    []*leaf
	tree      *tree
}

func newWorld(t *testing.T, s setting) *world {
	t.Helper()
	if s.endpoints == 0 {
		s.endpoints = 8
	}
	if len(s.localities) == 0 {
		s.localities = []string{""}
	}
	w := &world{T: t, setting: s, rng: rand.New(rand.NewPCG(s.seed, 5)), endpoints: map[string]*endpoint{}}
	w.now = second
	w.catalog = w.declare()
	w.tree = newTree(w)
	for i := range s.leaves {
		w.leaves = append(w.leaves, newLeaf(w, i))
	}
	return w
}

// policy is what the catalog language defaults to, as its page has it.
func policy() breaker.Policy {
	return breaker.Policy{
		Window: 5 * second, SlowWindow: 60 * second, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5,
		Cooldown: 5 * second, CooldownMax: 120 * second, Probes: 3, Ramp: 30 * second, MaxEjected: 0.5,
	}
}

func (w *world) declare() *route.Catalog {
	c := &route.Catalog{Version: route.CatalogVersion{StoreID: "s", Epoch: 1, Generation: 1}}
	var names []string
	p := policy()
	if w.ramp > 0 {
		p.Ramp = w.ramp
	}
	for i := range w.setting.endpoints {
		name := fmt.Sprintf("e%d", i)
		names = append(names, name)
		c.Endpoints = append(c.Endpoints, route.Endpoint{
			Name: name, Identity: uint64(i + 1), Provider: fmt.Sprintf("p%d", i/2), Model: "m", Artifact: "m@1", APIs: []string{"chat"},
			Capabilities: []string{"stream"}, ContextWindow: 100_000, MaxOutputTokens: 1000, Weight: route.Absent, Concurrency: route.Absent, Breaker: p,
		})
		w.endpoints[name] = &endpoint{world: w, name: name, speed: 1}
	}
	c.Workloads = []route.Workload{{
		Name: "chat", APIs: []string{"chat"}, Strategy: route.P2C, Tiers: []route.Tier{{Name: "all", Endpoints: names}},
		Attempts: route.Attempts{Max: 3, RetryRatio: 0.1, RetryReserve: 10, Connect: 2 * second, FirstToken: 10 * second, Answer: 180 * second, Stall: 20 * second, Total: 600 * second},
	}}
	return c
}

// within is a time of the world's chance.
func (w *world) within(from, to int64) int64 { return from + w.rng.Int64N(to-from) }

// endpoint answers as it is told to, and counts what it gets.
type endpoint struct {
	*world
	name     string
	speed    float64
	down     func(l *leaf) bool // nil: it is well
	arrivals []arrival
	inFlight []*sending
	probes   int // in flight
	most     int // probes in flight
}

// arrival is one attempt at an endpoint.
type arrival struct {
	at    int64
	leaf  int
	probe bool
}

// sending is one attempt in flight.
type sending struct {
	*leaf
	call    *route.Call
	attempt route.Attempt
	probe   bool
	ended   bool
}

// fail has it refuse those leaves from now on; what runs goes on.
func (e *endpoint) fail(down func(l *leaf) bool) { e.down = down }

// die has it refuse all, and breaks what runs.
func (e *endpoint) die() {
	e.fail(all)
	for _, s := range e.inFlight {
		e.after(e.within(1*ms, 10*ms), func() { e.end(s, route.Outcome{Kind: route.Faulted}) })
	}
}

func all(*leaf) bool { return true }

// take serves an attempt or fails it.
func (e *endpoint) take(s *sending) {
	e.arrivals = append(e.arrivals, arrival{e.now, s.number, s.probe})
	if s.probe {
		e.probes++
		e.most = max(e.most, e.probes)
	}
	e.inFlight = append(e.inFlight, s)
	if s.cut || e.down != nil && e.down(s.leaf) {
		e.after(e.within(2*ms, 20*ms), func() { e.end(s, route.Outcome{Kind: route.Faulted}) })
		return
	}
	first := int64(float64(e.within(240*ms, 360*ms)) / e.speed)
	whole := first + int64(float64(e.within(2400*ms, 3600*ms))/e.speed)
	e.after(first, func() {
		if !s.ended {
			s.router.FirstToken(e.now, s.attempt)
		}
	})
	e.after(whole, func() {
		e.end(s, route.Outcome{Kind: route.Served, HasUsage: true, Usage: usage})
	})
}

func (e *endpoint) end(s *sending, o route.Outcome) {
	if s.ended {
		return
	}
	s.ended = true
	e.inFlight = slices.DeleteFunc(e.inFlight, func(o *sending) bool { return o == s })
	if s.probe {
		e.probes--
	}
	s.router.Settle(e.now, s.attempt, o)
	s.next(s.call)
	s.nudge()
}

// hits are attempts since a time, but for probes.
func (e *endpoint) hits(since int64) (n int) {
	for _, a := range e.arrivals {
		if a.at >= since && !a.probe {
			n++
		}
	}
	return n
}

// busiest is the most attempts in any span of a time.
func (e *endpoint) busiest(span, from, to int64) (most int) {
	first := 0
	for i, a := range e.arrivals {
		for e.arrivals[first].at <= a.at-span {
			first++
		}
		if a.at >= from && a.at < to {
			most = max(most, i-first+1)
		}
	}
	return most
}

// opened are the fleet's openings of an endpoint ("" is any).
func (w *world) opened(name string) (out []fleet.Event) {
	for _, e := range w.tree.told {
		if e.Kind == fleet.Opened && (name == "" || e.Endpoint == name) {
			out = append(out, e)
		}
	}
	return out
}
