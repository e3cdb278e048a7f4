package route_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

// swap is a call whose first attempt ended while one catalog held, and whose next step is
// decided by another.
func swap(t *testing.T, o route.Outcome, change func(*route.Catalog)) route.Step {
	catalog := func() *route.Catalog {
		s := newStage()
		s.declare(parse("endpoint a window=1000"))
		s.declare(parse("endpoint b window=2000 weight=0"))
		s.declare(parse("workload w tiers=t:a,b max=3"))
		return &s.catalog
	}
	r, c := route.NewRouter(), catalog()
	first := compile(t, nil, c, nil)
	r.Apply(sec, first)
	call := r.Begin(sec, "w", route.Request{Input: 10})
	r.Settle(2*sec, r.Next(sec, 1, &call).Attempt, o)
	step := r.Next(2*sec, 2, &call)
	c = catalog()
	c.Endpoints[1].Weight = 100
	change(c)
	r.Apply(3*sec, compile(t, first, c, nil))
	for step.Kind == route.Wait {
		step = r.Next(step.Until, 3, &call)
	}
	return step
}

func TestACallThatWaitsIsHeldToALowerMax(t *testing.T) {
	for most, want := range map[int64]route.StepKind{1: route.Fail, 2: route.Send} {
		step := swap(t, route.Outcome{Kind: route.Faulted}, func(c *route.Catalog) { c.Workloads[0].Attempts.Max = most })
		var end *route.EndError
		if step.Kind != want || want == route.Fail && (!errors.As(step.Err, &end) || end.Why != route.EndAttempts) {
			t.Errorf("at most %d attempts: %+v", most, step)
		}
	}
}

// What an endpoint refused as too long needs more than the window that it was sent to, not
// than the one that the endpoint has by now.
func TestWhatWasTooLongNeedsMoreThanTheWindowThatItWasSentTo(t *testing.T) {
	s := newStage()
	s.declare(parse("endpoint a window=1000"))
	s.declare(parse("endpoint b window=2000 weight=0"))
	s.declare(parse("workload w tiers=t:a,b"))
	c := s.catalog
	c.Endpoints = slices.Clone(c.Endpoints)
	r := route.NewRouter()
	r.Apply(sec, compile(t, nil, &c, nil))
	call := r.Begin(sec, "w", route.Request{Input: 10})
	attempt := r.Next(sec, 1, &call).Attempt
	s.declare(parse("endpoint a window=9000"))
	s.declare(parse("endpoint b window=2000"))
	r.Apply(sec, compile(t, nil, &s.catalog, nil))
	r.Settle(2*sec, attempt, route.Outcome{Kind: route.TooLong})
	if step := r.Next(2*sec, 2, &call); step.Kind != route.Send || step.Endpoint.Name != "b" {
		t.Errorf("%+v", step)
	}
}

func TestATenantThatLeavesTheCatalogForAMomentIsStillHeldToItsCap(t *testing.T) {
	s := newStage()
	s.declare(parse("endpoint a"))
	s.declare(parse("workload w tiers=t:a"))
	with, without := s.catalog, s.catalog
	caps := route.NoCaps()
	caps.Concurrency = 1
	with.Tenants = []route.Tenant{{Name: "acme", Workloads: []string{"*"}, Caps: caps}}
	r := route.NewRouter()
	r.Apply(sec, compile(t, nil, &with, nil))
	request := route.Request{Tenant: "acme"}
	first, second := r.Begin(sec, "w", request), r.Begin(sec, "w", request)
	if step := r.Next(sec, 1, &first); step.Kind != route.Send {
		t.Fatal(step.Err)
	}
	r.Apply(2*sec, compile(t, nil, &without, nil))
	r.Apply(3*sec, compile(t, nil, &with, nil))
	if step := r.Next(3*sec, 2, &second); step.Kind != route.Fail {
		t.Errorf("two of one are in flight: %+v", step)
	}
}
