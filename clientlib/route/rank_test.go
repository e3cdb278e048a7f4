package route_test

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// signs are all that is known of one endpoint; less of each is better.
type signs struct {
	price    int64
	unshared int64 // 1000 less the share
	ttft     int64
	inFlight int // own
	fleet    int // others'
	slowness int
	failed   int // of the fleet's attempts
}

// better has less of everything, by something each; worse is b.
func better(d *dice) (a, b signs) {
	a = signs{int64(d.n(50)), int64(d.n(800)), int64(1000 + d.n(900_000)), d.n(6), d.n(20), d.n(20), d.n(30)}
	b = signs{a.price + int64(1+d.n(50)), a.unshared + int64(1+d.n(150)), a.ttft + int64(1+d.n(900_000)), a.inFlight + 1 + d.n(6), a.fleet + 1 + d.n(20), a.slowness + 1 + d.n(20), a.failed + 1 + d.n(20)}
	return a, b
}

// rivals is a router that knows two endpoints by their signs, all of one age.
type rivals struct {
	*route.Router
	now  int64
	seed uint32
}

func (s *signs) declare(st *stage, name string) {
	st.declare(parse(fmt.Sprintf("endpoint %s weight=%d quotas=%s price=%d/%d", name, 1000-s.unshared, name, s.price, 3*s.price)))
	st.catalog.Quotas = append(st.catalog.Quotas, route.Quota{Name: name, Requests: 1000, Tokens: 10_000_000, Input: route.Absent, Output: route.Absent, Daily: route.Absent})
	st.declare(parse(fmt.Sprintf("workload only-%s tiers=t:%s", name, name)))
	st.fleet.Endpoints = append(st.fleet.Endpoints, route.FleetEndpoint{
		Name: name, Identity: 1, At: 6 * sec, Speed: 1 / float64(1+s.slowness),
		Loads: []route.FleetLoad{{
			InFlight: uint64(s.fleet), PendingPromptTokens: uint64(s.fleet) * 1000, OutstandingTokens: uint64(s.fleet) * 2000,
			Successes: float64(100 - s.failed), Samples: 100, Slowdown: float64(1 + s.slowness), SlowdownSamples: 100,
		}},
	})
}

func meet(t *testing.T, strategy route.Strategy, a, b *signs) *rivals {
	s, r := newStage(), &rivals{Router: route.NewRouter(), now: sec}
	a.declare(s, "a")
	b.declare(s, "b")
	w := s.workload(parse("workload w money_per_ms=100 tiers=t:a,b"))
	w.Strategy, w.Bands = strategy, bands("all::m")
	s.catalog.Workloads = append(s.catalog.Workloads, w)
	r.Apply(r.now, compile(t, nil, &s.catalog, &s.fleet))
	for range 3 { // the first sample says nothing
		pa, pb := r.send(t, "only-a"), r.send(t, "only-b")
		from := r.now
		for _, v := range []struct {
			after int64
			at    route.Attempt
		}{{a.ttft, pa}, {b.ttft, pb}} { // b's is the later
			r.FirstToken(from+v.after, v.at)
		}
		r.now = from + 2*sec
		for _, at := range []route.Attempt{pa, pb} {
			r.Settle(r.now, at, route.Outcome{Kind: route.Served, HasUsage: true, Usage: money.Usage{Input: 1000, Output: 100}})
		}
	}
	for range a.inFlight {
		r.send(t, "only-a")
	}
	for range b.inFlight {
		r.send(t, "only-b")
	}
	r.now += 100_000
	return r
}

var rivalry = route.Request{Stream: true, Input: 1000, MaxOutput: 200}

func (r *rivals) send(t *testing.T, workload string) route.Attempt {
	t.Helper()
	r.seed++
	call := new(route.Call)
	*call = r.Begin(r.now, workload, rivalry)
	step := r.Next(r.now, r.seed, call)
	if step.Kind != route.Send {
		t.Fatal(step.Err)
	}
	return step.Attempt
}

// drawn counts whom so many picks prefer; nothing stays.
func (r *rivals) drawn(t *testing.T, picks int) map[string]int {
	counts := map[string]int{}
	for range picks {
		r.seed++
		call := r.Begin(r.now, "w", rivalry)
		step := r.Next(r.now, r.seed, &call)
		if step.Kind != route.Send {
			t.Fatal(step.Err)
		}
		counts[step.Endpoint.Name]++
		r.Settle(r.now, step.Attempt, route.Outcome{Kind: route.Unsent})
	}
	return counts
}

func TestBetterInEverythingIsNeverRankedLower(t *testing.T) {
	for _, st := range []route.Strategy{route.P2C, route.LeastLoaded, route.LeastTokens, route.WeightedLeastLatency, route.Predictive, route.CostTiered} {
		for seed := range uint32(300) {
			a, b := better(&dice{seed: seed})
			x := meet(t, st, &a, &b).Explain(8*sec, "w", rivalry)
			if v := x.Candidates; len(v) != 2 || v[0].Reason != route.Pass || v[1].Reason != route.Pass || v[0].Score > v[1].Score {
				t.Errorf("%v: %+v ranks below %+v: %+v", st, a, b, v)
			}
		}
	}
}

// What is drawn, not ranked, is drawn more often: by four standard deviations at least not less.
func TestBetterInEverythingIsNeverDrawnLess(t *testing.T) {
	const picks = 4000
	strategiesOf(func(st route.Strategy) {
		if st == route.Hash {
			return // it asks for the key
		}
		for seed := range uint32(25) {
			a, b := better(&dice{seed: seed})
			if n := meet(t, st, &a, &b).drawn(t, picks); n["a"]-n["b"] < -4*64 {
				t.Errorf("%v: of %+v and %+v, drawn %v", st, a, b, n)
			}
		}
	})
}
