// Whole runs, of code that starts no goroutine: make sim-check has them.

//go:build !race

package sim

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// TestAStormLeavesNothingBehind: whatever goes wrong at once, every call ends, nothing is in flight
// after it, and a second run is the same.
func TestAStormLeavesNothingBehind(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := storm(seed)
			w, err := newWorld(s, Policy{}, seed)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.play(nil); err != nil {
				t.Fatal(err)
			}
			r := w.result()
			whole(t, r)
			idle(t, w)
			if r.All.Served == 0 || r.All.Late == 0 || r.All.Retries == 0 || failed(&r.All) == 0 || r.All.Failures["abandoned"] > 0 || len(r.Turns) == 0 {
				t.Errorf("%d served, %d late, %d retries, failures %v: a calm, or an end that has no name", r.All.Served, r.All.Late, r.All.Retries, r.All.Failures)
			}
			again, err := Play(s, Policy{}, seed, nil)
			if err != nil {
				t.Fatal(err)
			}
			if encoded(t, again) != encoded(t, r) {
				t.Error("two runs differ")
			}
		})
	}
}

// storm is a scenario by chance.
func storm(seed uint64) *Scenario {
	c := stream(seed, 2000, 0)
	s := small(6, 8, 24)
	s.Duration, s.Warmup = 120*second, 0
	s.Fleet.Localities, s.Fleet.Lost = []string{"a", "b", "a"}, 0.1
	s.Callers = Callers{SDKRetries: 2, SDKPause: second / 2, Validate: seed%2 == 0, Estimate: 0.2}
	s.Catalog.Tenants = []route.Tenant{
		{Name: "default", Workloads: []string{"*"}, Caps: route.Caps{Concurrency: 40, Requests: route.Absent, Tokens: route.Absent}},
		{Name: "batch", Workloads: []string{"chat"}, Caps: route.NoCaps(), Priority: route.PriorityBatch},
	}
	for i := range s.Catalog.Endpoints {
		s.Catalog.Endpoints[i].Concurrency = 10 + c.within(30)
	}
	for k := server.Slow; k <= server.Away; k++ {
		f := fault(k, c.part(), c.within(60*second), 60*second+c.within(60*second))
		f.Name = fmt.Sprint(k)
		for i := range s.Catalog.Endpoints {
			if k < server.Stale && (c.within(3) == 0 || i == int(k)%6) {
				f.Endpoints = append(f.Endpoints, s.Catalog.Endpoints[i].Name)
			}
		}
		if k == server.Away {
			f.From, f.To = 80*second, 90*second
		}
		s.Faults = append(s.Faults, f)
	}
	shaped(s, func(c *chance, a *traffic.Arrival) {
		a.Stream = c.within(4) > 0
		if c.within(3) == 0 {
			a.Tenant = "batch"
		}
		if c.within(5) == 0 {
			a.Deadline = c.within(10*second) + 1
		}
		if c.within(20) == 0 {
			a.Cancel = c.within(3*second) + 1
		}
	})
	return s
}

// idle holds a world whose calls have ended to that it keeps nothing of them.
func idle(t *testing.T, w *world) {
	t.Helper()
	for place, s := range w.servers {
		if n := s.InFlight(); n > 0 {
			t.Errorf("%s: %d jobs are left", w.names[place], n)
		}
	}
	for i := range w.clients {
		for _, e := range w.clients[i].router.Endpoints(w.now, nil) {
			if e.InFlight != 0 {
				t.Errorf("%s has %d in flight at %s", w.clients[i].name, e.InFlight, e.Name)
			}
		}
		if n := w.clients[i].queue.count; n > 0 {
			t.Errorf("%d wait at %s", n, w.clients[i].name)
		}
	}
	if len(w.calls.free) != len(w.calls.all) {
		t.Errorf("%d of %d calls are free", len(w.calls.free), len(w.calls.all))
	}
}
