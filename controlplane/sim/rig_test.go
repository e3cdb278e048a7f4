package sim

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// policyOf is what the catalog language defaults to, as its page has it.
func policyOf() breaker.Policy {
	return breaker.Policy{
		Window: 5 * second, SlowWindow: 60 * second, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5,
		Cooldown: 5 * second, CooldownMax: 120 * second, Probes: 3, Ramp: 30 * second, MaxEjected: 0.5,
	}
}

// small is some engines, equally fast, and a stream of requests to them.
func small(endpoints, clients int, rate float64) *Scenario {
	s := &Scenario{
		Name: "small", Catalog: &route.Catalog{Version: route.CatalogVersion{StoreID: "s", Epoch: 1, Generation: 1}},
		Duration: 60 * second, Bins: 6, Servers: map[string]server.Model{},
		Fleet:   Fleet{Clients: clients, Report: second, Push: second, Delay: 400 * ms, Jitter: 100 * ms},
		Callers: Callers{Validate: true},
	}
	var names []string
	for i := range endpoints {
		name := fmt.Sprintf("e%02d", i)
		names = append(names, name)
		s.Catalog.Endpoints = append(s.Catalog.Endpoints, route.Endpoint{
			Name: name, Identity: uint64(i + 1), Provider: fmt.Sprintf("p%d", i%3), Model: "m", Artifact: "m@1", APIs: []string{"chat"},
			BaseURL: "http://" + name, Capabilities: []string{"stream"}, ContextWindow: 100_000, MaxOutputTokens: 10_000,
			Price: money.Price{Input: 1000, Output: 2000}, Weight: route.Absent, Concurrency: route.Absent, Breaker: policyOf(),
		})
		s.Servers[name] = server.Model{Own: &server.Own{}}
	}
	s.Catalog.Workloads = []route.Workload{{
		Name: "chat", APIs: []string{"chat"}, Strategy: route.P2C, Tiers: []route.Tier{{Name: "all", Endpoints: names}},
		Attempts: route.Attempts{
			Max: 3, RetryRatio: 0.1, RetryReserve: 10, Connect: 2 * second, FirstToken: 10 * second, Answer: 180 * second,
			Stall: 20 * second, Total: 600 * second,
		},
	}}
	s.Traffic = func(seed uint64) (traffic.Source, error) { return newPoisson(seed, clients, rate), nil }
	return s
}

// poisson is requests that do not know of each other.
type poisson struct {
	chance  chance
	at      float64
	clients int
	mean    float64 // µs between two
	like    func(c *chance, a *traffic.Arrival)
}

func newPoisson(seed uint64, clients int, rate float64) *poisson {
	return &poisson{chance: stream(seed, 1000, 0), clients: clients, mean: 1e6 / rate}
}

func (p *poisson) Next(a *traffic.Arrival) (bool, error) {
	p.at += -math.Log(1-p.chance.part()) * p.mean
	*a = traffic.Arrival{
		At: int64(p.at), Client: int32(p.chance.within(int64(p.clients))), Request: traffic.Request{Workload: "chat", Stream: true},
		Input: 200 + p.chance.within(1600), Output: 20 + p.chance.within(360), MaxOutput: 4096, Chance: uint32(p.chance.next()),
	}
	if p.like != nil {
		p.like(&p.chance, a)
	}
	return true, nil
}

// shaped has every request of a scenario changed.
func shaped(s *Scenario, like func(c *chance, a *traffic.Arrival)) {
	was := s.Traffic
	s.Traffic = func(seed uint64) (traffic.Source, error) {
		src, err := was(seed)
		src.(*poisson).like = like
		return src, err
	}
}

func played(t *testing.T, s *Scenario, p Policy) *measure.Result {
	t.Helper()
	r, err := Play(s, p, 7, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole(t, r)
	return r
}

// whole holds a result to that nothing is lost: every call is served, failed, shed or late.
func whole(t *testing.T, r *measure.Result) {
	t.Helper()
	m := &r.All
	if sum := m.Served + failed(m) + shed(m) + m.Late; sum != m.Calls || m.Calls == 0 {
		t.Errorf("%d calls: %d served, %d failed, %d shed, %d late", m.Calls, m.Served, failed(m), shed(m), m.Late)
	}
	if m.Violations > 0 {
		t.Errorf("%d violations", m.Violations)
	}
}

func failed(m *measure.Measures) (n int64) {
	for _, k := range m.Failures {
		n += k
	}
	return n
}

func shed(m *measure.Measures) (n int64) {
	for _, k := range m.Sheds {
		n += k
	}
	return n
}

func encoded(t *testing.T, r *measure.Result) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func fault(k server.FaultKind, part float64, from, to int64, endpoints ...string) Fault {
	return Fault{Name: "it", Endpoints: endpoints, Fault: server.Fault{Kind: k, Part: part, From: from, To: to, Factor: 0.2}}
}

// turned are the fleet's turns of one kind.
func turned(r *measure.Result, kind string) (out []measure.Turn) {
	for _, x := range r.Turns {
		if x.Kind == kind && x.Client < 0 {
			out = append(out, x)
		}
	}
	return out
}

func endpoint(r *measure.Result, name string) *measure.Measures {
	for i := range r.By.Endpoints {
		if r.By.Endpoints[i].Name == name {
			return &r.By.Endpoints[i].Measures
		}
	}
	return &measure.Measures{}
}
