package sim

import (
	"math"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// first is a rival that takes the first of those that it may take.
type first struct {
	seen              func(client int32)
	sent, came, ended int
	bad               bool
}

func (f *first) Choose(_ int64, q *Query) int {
	if f.seen != nil {
		f.seen(q.Client)
	}
	f.bad = f.bad || len(q.Eligible) == 0 || q.Arrival.Client != q.Client
	return 0
}
func (f *first) Sent(_ int64, _, _ int32, _ *traffic.Arrival)      { f.sent++ }
func (f *first) First(_ int64, _, _ int32, _ int64)                { f.came++ }
func (f *first) Ended(_ int64, _, _ int32, kind route.OutcomeKind) { f.ended++ }

func TestARivalChoosesAmongWhatTheGatesLetThrough(t *testing.T) {
	s, f := small(3, 2, 2), &first{}
	r := played(t, s, Policy{Rival: func(*View) Rival { return f }})
	if n := endpoint(r, "e00").Calls; n != r.All.Calls || f.bad {
		t.Errorf("%d of %d went to the first", n, r.All.Calls)
	}
	if f.sent != int(r.All.Calls) || f.ended != f.sent || f.came != f.sent {
		t.Errorf("%d sent, %d first tokens, %d ended of %d", f.sent, f.came, f.ended, r.All.Calls)
	}
	s.Catalog.Endpoints[0].Capabilities = nil
	r = played(t, s, Policy{Rival: func(*View) Rival { return f }})
	if n := endpoint(r, "e00").Calls; n > 0 {
		t.Errorf("%d went to an endpoint that lacks a capability", n)
	}
}

// TestAnAttemptThatNoGateWouldPassIsAViolation breaks the gate: the core has another catalog than
// the check.
func TestAnAttemptThatNoGateWouldPassIsAViolation(t *testing.T) {
	for name, spoil := range map[string]func(*route.Catalog){
		"capability": func(c *route.Catalog) { c.Endpoints[0].Capabilities = nil },
		"region":     func(c *route.Catalog) { c.Workloads[0].Contract.Regions = []string{"eu"} },
		"tenant": func(c *route.Catalog) {
			c.Tenants = []route.Tenant{{Name: "default", Workloads: []string{"other"}, Caps: route.NoCaps()}}
		},
	} {
		w, err := newWorld(small(1, 1, 1), Policy{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		other := clone(w.catalog)
		spoil(other)
		for i := range other.Endpoints {
			w.specs[i] = &other.Endpoints[i]
		}
		was := w.catalog
		w.catalog = other
		w.rights = newRights(w)
		w.catalog = was
		if err := w.play(nil); err != nil {
			t.Fatal(err)
		}
		if r := w.result(); r.All.Violations != r.All.Calls {
			t.Errorf("%s: %d violations of %d attempts", name, r.All.Violations, r.All.Calls)
		}
	}
}

func TestWhoseDeadlinePassesIsLate(t *testing.T) {
	s := small(2, 2, 10)
	s.Faults = []Fault{fault(server.Hang, 0, 0, 100*second, "e00", "e01")}
	shaped(s, func(_ *chance, a *traffic.Arrival) { a.Deadline = second })
	r := played(t, s, Policy{})
	if r.All.Late == 0 || r.All.Served > 0 {
		t.Errorf("%d late, %d served, failures %v, sheds %v", r.All.Late, r.All.Served, r.All.Failures, r.All.Sheds)
	}
}

func TestWhoLeavesIsLateAndFreesItsServer(t *testing.T) {
	s := small(1, 1, 2)
	shaped(s, func(_ *chance, a *traffic.Arrival) { a.Cancel, a.Output = 100*ms, 4000 })
	w, err := newWorld(s, Policy{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.play(nil); err != nil {
		t.Fatal(err)
	}
	if r := w.result(); r.All.Late != r.All.Calls || w.servers[0].InFlight() != 0 {
		t.Errorf("%d of %d late, %d jobs left", r.All.Late, r.All.Calls, w.servers[0].InFlight())
	}
}

func TestAnSDKMakesAFailedCallAnew(t *testing.T) {
	s := small(2, 2, 5)
	s.Catalog.Workloads[0].Attempts.Max = 1
	for i := range s.Catalog.Endpoints {
		b := &s.Catalog.Endpoints[i].Breaker
		b.Consecutive, b.FailureRatio, b.MinSamples = 1000, 1, 10_000
	}
	s.Faults = []Fault{fault(server.FailFast, 0.3, 0, 100*second, "e00", "e01")}
	without := played(t, s, Policy{})
	s.Callers.SDKRetries = 4
	with := played(t, s, Policy{})
	if with.All.Retries == 0 || failed(&with.All)*4 > failed(&without.All) {
		t.Errorf("%d failed with retries, %d without; %d retries", failed(&with.All), failed(&without.All), with.All.Retries)
	}
	if with.All.Calls != without.All.Calls {
		t.Errorf("%d calls with retries, %d without", with.All.Calls, without.All.Calls)
	}
}

// TestCallsWaitWhileAllIsFull: with room for a few at once the others wait in the library, and none
// is shed.
func TestCallsWaitWhileAllIsFull(t *testing.T) {
	s := small(2, 1, 3)
	for i := range s.Catalog.Endpoints {
		s.Catalog.Endpoints[i].Concurrency = 8
	}
	r := played(t, s, Policy{})
	if r.All.Served != r.All.Calls || r.All.Queue.Quantile(0.99) < 10_000 {
		t.Errorf("%d of %d served, p99 of the wait %.0f µs, sheds %v", r.All.Served, r.All.Calls, r.All.Queue.Quantile(0.99), r.All.Sheds)
	}
}

func TestWhoWaitsInVainIsShed(t *testing.T) {
	s := small(1, 1, 5)
	s.Catalog.Endpoints[0].Concurrency = 1
	r := played(t, s, Policy{})
	if shed(&r.All) == 0 || r.All.Served == 0 {
		t.Errorf("%d served, sheds %v", r.All.Served, r.All.Sheds)
	}
}

func TestInvalidAnswersAreDeliveredWithoutAValidator(t *testing.T) {
	s := small(2, 2, 5)
	s.Faults = []Fault{fault(server.Wrong, 0.3, 0, 100*second, "e00", "e01")}
	r := played(t, s, Policy{})
	if r.All.Failures["invalid"] == 0 || r.All.Wrong > 0 {
		t.Errorf("with a validator: failures %v, %d wrong", r.All.Failures, r.All.Wrong)
	}
	s.Callers.Validate = false
	r = played(t, s, Policy{})
	if r.All.Served != r.All.Calls || r.All.Wrong == 0 || r.All.Invalid != r.All.Wrong {
		t.Errorf("without: %d of %d served, %d wrong, %d invalid", r.All.Served, r.All.Calls, r.All.Wrong, r.All.Invalid)
	}
}

func TestAnInvalidAnswerIsAskedForOneTierFurther(t *testing.T) {
	s := small(4, 2, 5)
	w := &s.Catalog.Workloads[0]
	w.EscalateQuality, w.Whole, w.Attempts.RetryRatio, w.Attempts.RetryReserve = true, true, 1, 100
	w.Tiers = []route.Tier{{Name: "cheap", Endpoints: []string{"e00", "e01"}}, {Name: "dear", Endpoints: []string{"e02", "e03"}}}
	s.Faults = []Fault{fault(server.Wrong, 0.3, 0, 100*second, "e00", "e01")}
	r := played(t, s, Policy{})
	if r.All.Served != r.All.Calls || r.All.Invalid == 0 || r.All.Retries != r.All.Invalid {
		t.Errorf("%d of %d served, %d invalid, %d retries", r.All.Served, r.All.Calls, r.All.Invalid, r.All.Retries)
	}
	if n := endpoint(r, "e02").Calls + endpoint(r, "e03").Calls; n != r.All.Invalid {
		t.Errorf("%d attempts at the second tier, %d invalid answers", n, r.All.Invalid)
	}
}

// TestAHotTenantDoesNotKeepAnotherWaiting: the queue is fair by tokens.
func TestAHotTenantDoesNotKeepAnotherWaiting(t *testing.T) {
	s := small(2, 1, 4)
	for i := range s.Catalog.Endpoints {
		s.Catalog.Endpoints[i].Concurrency = 5
	}
	s.Catalog.Tenants = []route.Tenant{
		{Name: "hot", Workloads: []string{"*"}, Caps: route.NoCaps()}, {Name: "cold", Workloads: []string{"*"}, Caps: route.NoCaps()},
	}
	shaped(s, func(c *chance, a *traffic.Arrival) {
		if a.Tenant = "hot"; c.part() < 0.1 {
			a.Tenant = "cold"
		}
	})
	r := played(t, s, Policy{})
	cold, hot := &r.By.Tenants[0], &r.By.Tenants[1]
	if cold.Name != "cold" || shed(&cold.Measures) > 0 || cold.Queue.Mean()*3 > hot.Queue.Mean() {
		t.Errorf("%s waits %.0f µs, sheds %v; %s %.0f", cold.Name, cold.Queue.Mean(), cold.Sheds, hot.Name, hot.Queue.Mean())
	}
}

func TestWhoHasPriorityGoesFirst(t *testing.T) {
	s := small(2, 1, 4)
	for i := range s.Catalog.Endpoints {
		s.Catalog.Endpoints[i].Concurrency = 5
	}
	s.Catalog.Tenants = []route.Tenant{
		{Name: "batch", Workloads: []string{"*"}, Caps: route.NoCaps(), Priority: route.PriorityBatch},
		{Name: "chat", Workloads: []string{"*"}, Caps: route.NoCaps()},
	}
	shaped(s, func(c *chance, a *traffic.Arrival) {
		if a.Tenant = "batch"; c.part() < 0.5 {
			a.Tenant = "chat"
		}
	})
	r := played(t, s, Policy{})
	batch, chat := &r.By.Tenants[0], &r.By.Tenants[1]
	if chat.Queue.Mean()*3 > batch.Queue.Mean() || shed(&chat.Measures) > 0 {
		t.Errorf("chat waits %.0f µs, sheds %v; batch %.0f", chat.Queue.Mean(), chat.Sheds, batch.Queue.Mean())
	}
}

// TestATimeIsFromTheFirstArrivalWhateverTheSDKDid: a call that was made anew took longer than its
// pauses.
func TestATimeIsFromTheFirstArrivalWhateverTheSDKDid(t *testing.T) {
	s := small(1, 1, 0.2)
	s.Catalog.Workloads[0].Attempts.Max = 1
	s.Catalog.Endpoints[0].Breaker.Consecutive, s.Catalog.Endpoints[0].Breaker.MinSamples = 1000, 10_000
	s.Callers.SDKRetries, s.Callers.SDKPause = 8, 4*second
	s.Faults = []Fault{fault(server.FailFast, 0, 0, 30*second, "e00")}
	r := played(t, s, Policy{})
	if r.All.Served != r.All.Calls || r.All.TTFT.Quantile(1) < 2_000_000 {
		t.Errorf("%d of %d served, the longest first token took %.0f µs", r.All.Served, r.All.Calls, r.All.TTFT.Quantile(1))
	}
}

func TestAnEstimateIsOffByAsMuchAsIsSaid(t *testing.T) {
	s := small(1, 1, 1)
	s.Callers.Estimate = 0.3
	w, err := newWorld(s, Policy{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	var sum, squares float64
	for range 10_000 {
		x := float64(w.count(1000))/1000 - 1
		sum, squares = sum+x, squares+x*x
	}
	if mean, sigma := sum/10_000, math.Sqrt(squares/10_000); math.Abs(mean) > 0.02 || math.Abs(sigma-0.3) > 0.02 {
		t.Errorf("off by %.3f in the mean, ± %.3f", mean, sigma)
	}
}
