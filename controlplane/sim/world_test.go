package sim

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	s := small(6, 10, 20)
	s.Fleet.Localities = []string{"a", "b"}
	s.Callers = Callers{SDKRetries: 2, Validate: true, Estimate: 0.3}
	s.Faults = []Fault{fault(server.FailFast, 0.8, 20*second, 30*second, "e01", "e02"), fault(server.Slow, 0, 10*second, 40*second, "e03")}
	first := encoded(t, played(t, s, Policy{Name: "p2c"}))
	if again := encoded(t, played(t, s, Policy{Name: "p2c"})); again != first {
		t.Error("two runs differ")
	}
	other, err := Play(s, Policy{Name: "p2c"}, 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, other) == first {
		t.Error("another seed gives the same")
	}
}

func TestTrafficIsTheSameForEveryPolicy(t *testing.T) {
	s := small(4, 5, 10)
	s.Callers.Estimate = 0.5
	a := played(t, s, Policy{Name: "p2c"})
	b := played(t, s, Policy{Name: "rr", Edit: func(c *route.Catalog) { c.Workloads[0].Strategy = route.RoundRobin }})
	if a.All.Calls != b.All.Calls || a.All.Input != b.All.Input || a.All.Output != b.All.Output {
		t.Errorf("calls %d and %d, input %d and %d", a.All.Calls, b.All.Calls, a.All.Input, b.All.Input)
	}
	if s.Catalog.Workloads[0].Strategy != route.P2C {
		t.Error("the scenario's own catalog was changed")
	}
}

func TestOneClientAloneIsServed(t *testing.T) {
	r := played(t, small(1, 1, 1), Policy{})
	if r.All.Served != r.All.Calls || r.All.Retries > 0 {
		t.Errorf("%d of %d served, %d retries", r.All.Served, r.All.Calls, r.All.Retries)
	}
}

// TestOneServerWaitsAsTheFormulaSays: Poisson arrivals, exponential work, one at a time: the mean
// wait is ρ ÷ (1 − ρ) of the mean work.
func TestOneServerWaitsAsTheFormulaSays(t *testing.T) {
	s := small(1, 1, 5)
	s.Duration, s.Warmup = 40_000*second, 1000*second
	s.Servers["e00"] = server.Model{Own: &server.Own{PrefillTPS: 10_000, Slots: 10_000, Step: 1, StepEach: 1e-9, PrefillPace: 1}}
	s.Catalog.Endpoints[0].ContextWindow = 10_000_000
	s.Catalog.Workloads[0].Attempts.FirstToken = 600 * second
	shaped(s, func(c *chance, a *traffic.Arrival) {
		a.Input, a.Output, a.MaxOutput = 1+int64(-math.Log(1-c.part())*1000), 1, 1 // 100 ms on the average
	})
	r := played(t, s, Policy{})
	work, load := 100_100.0, 0.1001*5
	want := work + load/(1-load)*work
	if got := r.All.TTFT.Mean(); math.Abs(got-want) > 0.05*want {
		t.Errorf("a first token takes %.0f µs on the average, want %.0f", got, want)
	}
}

func TestStoppedWhenItIsTold(t *testing.T) {
	_, err := Play(small(4, 10, 50), Policy{}, 1, func(int64) bool { return false })
	if !errors.Is(err, ErrStopped) {
		t.Errorf("%v, want %v", err, ErrStopped)
	}
}

func TestWhatCannotBePlayedIsNamed(t *testing.T) {
	for want, spoil := range map[string]func(*Scenario){
		"fleet.clients: 0":            func(s *Scenario) { s.Fleet.Clients = 0 },
		"fleet: report, push":         func(s *Scenario) { s.Fleet.Push = -1 },
		"lost 0 to 1":                 func(s *Scenario) { s.Fleet.Lost = 1.1 },
		"callers: sdk_retries":        func(s *Scenario) { s.Callers.SDKRetries = -1 },
		`server "e01": there is none`: func(s *Scenario) { delete(s.Servers, "e01") },
		`endpoint "e99" is not in`:    func(s *Scenario) { s.Faults = []Fault{fault(server.Hang, 0, 0, 1, "e99")} },
		"never is":                    func(s *Scenario) { s.Faults = []Fault{fault(server.Hang, 0, 5, 5, "e00")} },
		"is the control plane's":      func(s *Scenario) { s.Faults = []Fault{fault(server.Away, 0, 0, 1, "e00")} },
		"duration: 0":                 func(s *Scenario) { s.Duration = 0 },
		`workload "none" is not in`:   func(s *Scenario) { shaped(s, func(_ *chance, a *traffic.Arrival) { a.Workload = "none" }) },
		"client 99's, want 0 to 1":    func(s *Scenario) { shaped(s, func(_ *chance, a *traffic.Arrival) { a.Client = 99 }) },
		"sort the trace by time":      func(s *Scenario) { shaped(s, func(_ *chance, a *traffic.Arrival) { a.At = second - a.At }) },
		"attempts":                    func(s *Scenario) { s.Catalog.Workloads[0].Attempts.Max = 0 },
	} {
		s := small(2, 2, 5)
		spoil(s)
		if _, err := Play(s, Policy{}, 1, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
