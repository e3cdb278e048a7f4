package sim

import (
	"slices"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/server"
)

// TestEachFaultOfAnEndpointIsMet: half of its attempts or all fail, the fleet avoids it where a breaker
// is the answer, and its share comes back.
func TestEachFaultOfAnEndpointIsMet(t *testing.T) {
	for _, tt := range []struct {
		name    string
		fault   Fault
		outcome route.OutcomeKind // of attempts there
		opens   bool
	}{
		{"fast failure", fault(server.FailFast, 0, 60*second, 90*second, "e01"), route.Faulted, true},
		{"black-out", fault(server.Black, 0, 60*second, 90*second, "e01"), route.Faulted, true},
		{"a stream that breaks", fault(server.Cut, 0, 60*second, 90*second, "e01"), route.Faulted, true},
		{"no answer", fault(server.Hang, 0, 60*second, 160*second, "e01"), route.TimedOut, true},
		{"429", fault(server.Throttle, 0, 60*second, 90*second, "e01"), route.Limited, false},
		{"quota used up", fault(server.Exhausted, 0, 60*second, 90*second, "e01"), route.Limited, false},
		{"invalid answers", fault(server.Wrong, 0, 60*second, 90*second, "e01"), route.Invalid, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := small(6, 5, 10)
			s.Duration = 240 * second
			s.Faults = []Fault{tt.fault}
			r := played(t, s, Policy{})
			if n := endpoint(r, "e01").Failures[tt.outcome.String()]; n == 0 {
				t.Errorf("no attempt is %s: %v", tt.outcome, endpoint(r, "e01").Failures)
			}
			if opened := len(turned(r, "opened")) > 0; opened != tt.opens {
				t.Errorf("the fleet opened: %t, want %t: %v", opened, tt.opens, r.Turns)
			}
			f := r.Faults[0]
			if f.Failed == 0 || f.Returned < 0 {
				t.Errorf("%+v", f)
			}
			if tt.opens && (f.Avoided < 0 || f.Avoided > 60*second) {
				t.Errorf("avoided after %d µs", f.Avoided)
			}
		})
	}
}

// TestTheFleetProbesAndTakesBackWhatHasRecovered: grants reach their leaves, and what came of them
// the judge.
func TestTheFleetProbesAndTakesBackWhatHasRecovered(t *testing.T) {
	s := small(6, 5, 20)
	s.Duration = 240 * second
	s.Faults = []Fault{fault(server.FailFast, 0, 60*second, 70*second, "e01")}
	r := played(t, s, Policy{})
	var kinds []string
	for _, x := range r.Turns {
		if x.Client < 0 && x.Endpoint == "e01" {
			kinds = append(kinds, x.Kind)
		}
	}
	if len(kinds) < 4 || kinds[0] != "opened" || kinds[1] != "half_opened" || kinds[len(kinds)-2] != "ramping" || kinds[len(kinds)-1] != "closed" {
		t.Errorf("turns: %v", kinds)
	}
}

// TestWhatWasSentBeforeAFaultWasAvoidedIsCountedWhenItFails: of an endpoint that hangs, that is long
// after everybody went elsewhere.
func TestWhatWasSentBeforeAFaultWasAvoidedIsCountedWhenItFails(t *testing.T) {
	s := small(6, 5, 20)
	s.Duration = 180 * second
	s.Faults = []Fault{fault(server.Hang, 0, 60*second, 160*second, "e01")}
	r := played(t, s, Policy{})
	f, all := r.Faults[0], endpoint(r, "e01").Failures[route.TimedOut.String()]
	if f.Avoided < 0 || f.Failed > all || f.Failed < all*7/10 { // the rest are probes
		t.Errorf("%d of %d attempts that failed are told of: %+v", f.Failed, all, f)
	}
}

func TestAnOpeningIsToldAtOnce(t *testing.T) {
	s := small(6, 20, 30)
	s.Duration = 120 * second
	s.Fleet.Push = 60 * second // only what is urgent comes before
	s.Faults = []Fault{fault(server.FailFast, 0, 70*second, 100*second, "e01")}
	r := played(t, s, Policy{})
	i := slices.IndexFunc(r.Turns, func(x measure.Turn) bool { return x.Client < 0 && x.Kind == "opened" && x.Endpoint == "e01" })
	f := r.Faults[0]
	if i < 0 || f.Avoided < 0 || f.From+f.Avoided-r.Turns[i].At > second {
		t.Errorf("%+v, turns: %+v", f, r.Turns)
	}
}

func TestPushesThatAreLostComeLater(t *testing.T) {
	s := small(6, 5, 10)
	s.Fleet.Lost = 0.5
	s.Faults = []Fault{fault(server.FailFast, 0, 10*second, 50*second, "e01")}
	r := played(t, s, Policy{})
	if f := r.Faults[0]; f.Avoided < 0 || failed(&r.All) > 0 {
		t.Errorf("%+v, failures %v", f, r.All.Failures)
	}
}

func TestASlowEndpointGetsLess(t *testing.T) {
	s := small(6, 5, 10)
	s.Faults = []Fault{fault(server.Slow, 0, 10*second, 60*second, "e01")}
	r := played(t, s, Policy{})
	if slow, usual := endpoint(r, "e01").Calls, endpoint(r, "e02").Calls; slow*4 > usual*3 {
		t.Errorf("%d attempts at the slow one, %d at another", slow, usual)
	}
}

func TestAColdEndpointJoins(t *testing.T) {
	s := small(4, 5, 10)
	s.Duration = 200 * second
	s.Faults = []Fault{fault(server.Cold, 0, 0, 30*second, "e01")}
	r := played(t, s, Policy{})
	if f := r.Faults[0]; f.Avoided < 0 || f.Returned < 0 {
		t.Errorf("%+v", f)
	}
	if n := endpoint(r, "e01").Served; n == 0 {
		t.Error("nobody asked it after it had joined")
	}
}

func TestCorrelatedFaultsAreAvoidedTogether(t *testing.T) {
	s := small(6, 5, 10)
	s.Faults = []Fault{fault(server.FailFast, 0, 20*second, 60*second, "e00", "e03")}
	r := played(t, s, Policy{})
	if f := r.Faults[0]; f.Avoided < 0 || len(turned(r, "opened")) < 2 {
		t.Errorf("%+v, %d openings", f, len(turned(r, "opened")))
	}
}

// TestWithoutTheControlPlaneCallsGoOn: nothing is reported, judged or pushed, and no call fails.
func TestWithoutTheControlPlaneCallsGoOn(t *testing.T) {
	s := small(6, 5, 10)
	s.Faults = []Fault{fault(server.Away, 0, 0, 1000*second)}
	r := played(t, s, Policy{})
	if r.All.Served != r.All.Calls {
		t.Errorf("%d of %d served", r.All.Served, r.All.Calls)
	}
	s.Faults = append(s.Faults, fault(server.FailFast, 0, 20*second, 50*second, "e01"))
	r = played(t, s, Policy{})
	if len(turned(r, "opened")) > 0 || len(r.Turns) == 0 {
		t.Errorf("turns: %v", r.Turns)
	}
	if failed(&r.All) > 0 {
		t.Errorf("failures: %v", r.All.Failures)
	}
}

func TestLostPushesAreNotHeard(t *testing.T) {
	s := small(6, 5, 10)
	s.Faults = []Fault{fault(server.Stale, 0, 0, 1000*second)}
	seen := 0
	rival := func(v *View) Rival {
		return &first{seen: func(client int32) {
			if v.Overlay(client) != nil {
				seen++
			}
		}}
	}
	played(t, s, Policy{Rival: rival})
	if seen > 0 {
		t.Errorf("an overlay was there %d times", seen)
	}
	s.Faults = nil
	played(t, s, Policy{Rival: rival})
	if seen == 0 {
		t.Error("no overlay without the fault")
	}
}
