package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/pointsman/pointsman/clientlib/route/money"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const second = 1_000_000

// made is a made-up run: the n-th policy waits n times as long as the first.
type made struct {
	endpoints, calls int
	tenants          []string
	faults           []measure.Fault
}

func (m made) play(s *sim.Scenario, p sim.Policy, seed uint64, watch func(int64) bool) (*measure.Result, error) {
	plan := measure.Plan{Policy: p.Name, Seed: seed, Warmup: s.Warmup, Duration: s.Duration}
	for i := range m.endpoints {
		plan.Endpoints = append(plan.Endpoints, fmt.Sprintf("gpu-%02d", i))
	}
	r := measure.New(plan)
	rnd := rand.New(rand.NewPCG(seed, 7))
	slow := slowness(p.Name)
	for i := range int64(m.calls) {
		at := i * s.Duration / int64(m.calls)
		if i%97 == 0 && !watch(at) {
			return nil, sim.ErrStopped
		}
		m.call(r, rnd, at, slow)
	}
	for _, f := range m.faults {
		for _, e := range f.Endpoints {
			r.Turn(measure.Turn{At: f.From + second, Endpoint: e, Kind: "opened", Client: 3})
			r.Turn(measure.Turn{At: f.From + 2*second, Endpoint: e, Kind: "opened", Client: -1})
			r.Turn(measure.Turn{At: f.To - 20*second, Endpoint: e, Kind: "half_opened", Client: -1})
			r.Turn(measure.Turn{At: f.To + second, Endpoint: e, Kind: "ramping", Client: -1})
			r.Turn(measure.Turn{At: f.To + 30*second, Endpoint: e, Kind: "closed", Client: -1})
		}
	}
	result := r.Result()
	result.Faults = m.faults
	return result, nil
}

func (m made) call(r *measure.Recorder, rnd *rand.Rand, at int64, slow float64) {
	wait := int64(slow * 200_000 * math.Exp(0.8*rnd.NormFloat64()))
	tenant := m.tenants[rnd.IntN(len(m.tenants))]
	if tenant == "acme" {
		wait *= 2
	}
	place := min(int(math.Abs(rnd.NormFloat64())*float64(m.endpoints)/2.5), m.endpoints-1)
	served := rnd.Float64() > 0.002*slow
	who := measure.Asker{Workload: "chat", Tenant: tenant}
	c := &measure.Call{At: at, Sent: at + 100, First: at + wait, End: at + wait + 3*second, Attempts: 1, Asker: who,
		Ending: measure.Ending{Served: served}, Tokens: measure.Tokens{Input: 1000, Cached: 300, Output: 200}}
	if !served {
		c.Failure = "timed_out"
	}
	r.Call(c)
	r.Attempt(&measure.Attempt{At: at, First: c.First, End: c.End, Place: place, Served: served, Outcome: "timed_out", Asker: who,
		Cost: money.Nano(1e6 * (1 + rnd.Float64()/slow)), Tokens: measure.Tokens{Input: 1000, Output: 200}})
}

// slowness is told by the name.
func slowness(policy string) float64 {
	for i, name := range policyNames {
		if name == policy {
			return []float64{1, 1.3, 1.25, 2, 2.4, 5, 14, 0.6, 0.65, 30, 1.9, 3}[i]
		}
	}
	return 1
}

var policyNames = []string{"predictive", "prequal", "jsq2", "least_loaded", "p2c", "peak_ewma", "wrr", "clairvoyant", "clairvoyant_total", "round_robin", "cost_tiered", "wrr_wrong"}

func plan(m made, policies, seeds int) Plan {
	s := &sim.Scenario{Name: "made up", Warmup: 60 * second, Duration: 360 * second}
	p := Plan{Play: m.play, Points: []Point{{Scenario: s, Variables: map[string]string{"load": "0.6", "push": "1s"}}}}
	for _, name := range policyNames[:policies] {
		p.Points[0].Policies = append(p.Points[0].Policies, sim.Policy{Name: name})
	}
	for i := range seeds {
		p.Seeds = append(p.Seeds, uint64(i+1))
	}
	return p
}

// fleet is forty endpoints, of which four are slow for a while, and tenants.
var fleet = made{endpoints: 40, calls: 3000, tenants: []string{"acme", "zeta", "omega"},
	faults: []measure.Fault{{Name: "one in ten slow", From: 120 * second, To: 240 * second, Endpoints: []string{"gpu-03", "gpu-04", "gpu-05", "gpu-06"}, Avoided: 4_200_000, Failed: 17, Returned: -1}}}

// report plays a plan and judges it.
func report(t *testing.T, p Plan, assertions ...string) *Report {
	t.Helper()
	results, err := Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	var parsed []measure.Assertion
	for _, text := range assertions {
		a, err := measure.ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, a)
	}
	r := &Report{File: "scenarios/made-up.hcl", Title: "Fifty clients at load 0.6", Text: "Who waits for whom, when one endpoint in ten is slow?\n\nForty endpoints of three speeds."}
	r.Fill(p, results, parsed)
	return r
}
