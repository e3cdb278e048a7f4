package route

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route/limit"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// crowded has two endpoints under one quota, and tenants of every priority.
func crowded() *Catalog {
	c := &Catalog{
		Quotas: []Quota{{Name: "q", Requests: 6000, Tokens: 600_000, Input: Absent, Output: Absent, Daily: 90_000}},
		Workloads: []Workload{{
			Name: "w", APIs: []string{"chat"}, Strategy: P2C, Tiers: []Tier{{Name: "t", Endpoints: []string{"a", "b"}}},
			Attempts: Attempts{Max: 2, RetryReserve: 1000, Total: 60 * second},
		}},
	}
	for _, name := range []string{"a", "b"} {
		c.Endpoints = append(c.Endpoints, Endpoint{
			Name: name, Identity: 1, Model: "m", Artifact: "m@1", APIs: []string{"chat"}, Quotas: []string{"q"}, ContextWindow: 1 << 20,
			Weight: 100, Concurrency: 40, Price: money.Price{Input: 1000, Output: 3000},
		})
	}
	for p, name := range []string{"hi", "mid", "low"} {
		c.Tenants = append(c.Tenants, Tenant{
			Name: name, Workloads: []string{"*"}, Priority: Priority(p), Caps: Caps{int64(10 + 10*p), 3000, 300_000},
			Budget: Budget{Has: true, Limit: 80_000, Warn: 0.5}, Reservations: []Reservation{{"q", 600, Absent}},
		})
	}
	return c
}

func TestNoOrderOfCallsTakesMoreThanATenantMay(t *testing.T) {
	for seed := range uint64(20) {
		d := rand.New(rand.NewPCG(seed, 0))
		r, c := NewRouter(), crowded()
		r.Apply(0, made(t, nil, c, nil))
		var open []Attempt
		sent, shed := 0, map[Reason]int{}
		now := int64(1)
		for range 3000 {
			now += d.Int64N(20_000)
			if n := len(open); n > 0 && d.IntN(3) == 0 {
				end(r, now, open[n-1], d)
				open = open[:n-1]
			} else if a, err := sendOne(r, now, d); err == nil {
				open, sent = append(open, a), sent+1
			} else if s := (*ShedError)(nil); errors.As(err, &s) {
				for reason, n := range s.Counts {
					shed[Reason(reason)] += n
				}
			}
			if d.IntN(500) == 0 {
				c = crowded()
				c.Quotas[0].Tokens = 300_000 + d.Int64N(300_000)
				r.Apply(now, made(t, r.snapshot, c, nil))
			}
			mustHold(t, r)
		}
		for _, a := range open {
			r.Abandon(now, a)
		}
		for _, b := range r.tabs {
			if b.inFlight != 0 || b.purse.reserved != 0 {
				t.Errorf("seed %d: %s keeps %d in flight, %v reserved", seed, b.spec.Name, b.inFlight, b.purse.reserved)
			}
		}
		if sent == 0 || shed[ReasonTenantCap] == 0 || shed[ReasonBudget] == 0 {
			t.Errorf("seed %d: %d sent, shed %v: it tried too little", seed, sent, shed)
		}
	}
}

// mustHold is what must be at any time.
func mustHold(t *testing.T, r *Router) {
	t.Helper()
	for _, b := range r.tabs {
		if b.inFlight < 0 || b.inFlight > b.spec.Caps.Concurrency {
			t.Fatalf("%s has %d in flight", b.spec.Name, b.inFlight)
		}
		if b.purse.reserved < 0 || b.purse.spent+b.purse.reserved > b.spec.Budget.Limit {
			t.Fatalf("%s spent %v and reserved %v", b.spec.Name, b.purse.spent, b.purse.reserved)
		}
	}
	for _, l := range r.current {
		var sum int64
		for _, n := range l.byPriority {
			if sum += n; n < 0 {
				t.Fatalf("%s: %v by priority", l.name, l.byPriority)
			}
		}
		if sum != l.inFlight || sum > l.most {
			t.Fatalf("%s: %d in flight, %d by priority", l.name, l.inFlight, sum)
		}
	}
}

func sendOne(r *Router, now int64, d *rand.Rand) (Attempt, error) {
	c := r.Begin(now, "w", Request{Tenant: []string{"hi", "mid", "low"}[d.IntN(3)], Input: d.Int64N(2000), MaxOutput: 1 + d.Int64N(500)})
	step := r.Next(now, d.Uint32(), &c)
	return step.Attempt, step.Err
}

// end settles with no more than was reserved.
func end(r *Router, now int64, a Attempt, d *rand.Rand) {
	s := r.inFlight(a)
	o := Outcome{Kind: OutcomeKind(d.IntN(int(outcomeKinds))), HasUsage: d.IntN(2) == 0}
	if o.Kind == Unauthorized || o.Kind == Missing || o.Kind == Limited && d.IntN(8) > 0 {
		o.Kind = Served
	}
	o.Usage = money.Usage{Input: d.Int64N(s.input + 1), Output: d.Int64N(s.taken.foreseen + 1)}
	h := limit.Headers{}
	h.Of[limit.Tokens] = limit.Header{HasRemaining: true, Remaining: 100_000 + d.Int64N(500_000)}
	r.Headers(now, a, h)
	r.Settle(now, a, o)
}
