// Whole runs, of code that starts no goroutine: make sim-check has them.

//go:build !race

package rival

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// scenario is the arena as sim plays it, with a control plane, breakers and retries.
func (w *arena) scenario() *sim.Scenario {
	const second = 1_000_000
	s := &sim.Scenario{
		Name: "arena", Catalog: &route.Catalog{Version: route.CatalogVersion{StoreID: "s", Epoch: 1, Generation: 1}},
		Warmup: w.seconds * second / 5, Duration: w.seconds * second, Bins: 6, Servers: map[string]server.Model{},
		Fleet:   sim.Fleet{Clients: w.clients, Report: second, Push: second, Delay: 400_000, Jitter: 100_000},
		Callers: sim.Callers{Validate: true},
	}
	rate, tier := 0.0, route.Tier{Name: "all"}
	for i, speed := range w.speeds {
		name := fmt.Sprintf("e%02d", i)
		m := server.Model{Own: &server.Own{Speed: speed}}
		rate += w.load * m.Capacity(meanIn, meanOut)
		s.Servers[name] = m
		tier.Endpoints = append(tier.Endpoints, name)
		s.Catalog.Endpoints = append(s.Catalog.Endpoints, route.Endpoint{
			Name: name, Identity: uint64(i + 1), Provider: "own", Model: "m", Artifact: "m@1", APIs: []string{"chat"},
			BaseURL: "http://" + name, Capabilities: []string{"stream"}, ContextWindow: 1_000_000, MaxOutputTokens: 100_000,
			Weight: route.Absent, Concurrency: route.Absent, Breaker: breaker.Policy{
				Window: 5 * second, SlowWindow: 60 * second, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5,
				Cooldown: 5 * second, CooldownMax: 120 * second, Probes: 3, Ramp: 30 * second, MaxEjected: 0.5},
		})
	}
	for i := range w.faults {
		s.Faults = append(s.Faults, sim.Fault{Name: "it", Endpoints: tier.Endpoints[:w.faulty], Fault: w.faults[i]})
	}
	s.Catalog.Workloads = []route.Workload{{Name: "chat", APIs: []string{"chat"}, Strategy: route.P2C, Tiers: []route.Tier{tier},
		Attempts: route.Attempts{Max: 3, RetryRatio: 0.1, RetryReserve: 10, Connect: 2 * second, FirstToken: 3600 * second,
			Answer: 3600 * second, Stall: 600 * second, Total: 7200 * second}}}
	g := &traffic.Generator{Name: "chat", Crowd: traffic.Crowd{Clients: w.clients, Zipf: 0.8}, Rate: rate, CV: 1.5,
		Input: traffic.Length{Median: 1000, Sigma: 1}, Output: traffic.Length{Median: 200, Sigma: 1},
		Labels: traffic.Labels{Workload: "chat", Stream: true}}
	s.Traffic = func(seed uint64) (traffic.Source, error) { return g.Open(seed) }
	return s
}

func (w *arena) sim(t *testing.T, name string) *measure.Result {
	t.Helper()
	start, err := New(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Play(w.scenario(), sim.Policy{Name: name, Rival: start}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.All.Calls == 0 || r.All.Served != r.All.Calls {
		t.Fatalf("%s: %d of %d served", name, r.All.Served, r.All.Calls)
	}
	return r
}

// The figures are those of another simulator of the same model, written before this one.
func TestRivalsAreAsStrongInTheWholeWorldAsAnotherSimulatorFoundThem(t *testing.T) {
	w := &arena{speeds: pool40(), clients: 50, load: 0.6, seconds: 60}
	for _, c := range []struct {
		name      string
		mean, p99 float64
	}{
		{"least_loaded", 0.28, 2.3},
		{"p2c_local", 0.39, 3.9},
		{"peak_ewma", 0.67, 10},
		{"prequal", 0.27, 1.9},
		{"jsq2", 0.25, 1.9},
		{"jsed", 0.19, 1.3},
		{"clairvoyant", 0.13, 0.62},
	} {
		times := w.sim(t, c.name).All.TTFT
		mean, p99 := times.Mean()/1e6, times.Quantile(0.99)/1e6
		if mean > c.mean*1.5 || p99 > c.p99*1.5 {
			t.Errorf("%s: mean %.2f, p99 %.2f s, there %.2f and %.2f", c.name, mean, p99, c.mean, c.p99)
		}
	}
}

func TestMinimumOfThePushedStateIsFarWorseThanChance(t *testing.T) {
	w := &arena{speeds: pool40(), clients: 50, load: 0.6, seconds: 60}
	bad, chance := w.sim(t, "minimum").All.TTFT, w.sim(t, "p2c_local").All.TTFT
	if bad.Mean() < 2*chance.Mean() {
		t.Errorf("mean %.2f s, two draws by nearly nothing %.2f s", bad.Mean()/1e6, chance.Mean()/1e6)
	}
}

func TestBoundsAreBelowTheBestThatIsPlayed(t *testing.T) {
	w := &arena{speeds: pool40(), clients: 50, load: 0.9, seconds: 60}
	l, err := Bounds(w.scenario(), 1)
	if err != nil {
		t.Fatal(err)
	}
	best := w.sim(t, "clairvoyant").All.TTFT
	if l.ZeroTTFT <= 0 || l.ZeroTTFT > best.Mean() || l.PooledTTFT <= 0 || l.PooledTTFT > best.Mean() {
		t.Errorf("bounds %v µs, played %v µs", l, best.Mean())
	}
}

func TestClairvoyantIsTheBestOfAll(t *testing.T) {
	w := &arena{speeds: pool40(), clients: 50, load: 0.8, seconds: 120}
	first, total := w.play(t, "clairvoyant", nil, 1), w.play(t, "clairvoyant_total", nil, 1)
	for _, name := range Names() {
		f := w.play(t, name, nil, 1)
		if f.mean < first.mean {
			t.Errorf("%s: %.3f s to the first token, the oracle %.3f s", name, f.mean, first.mean)
		}
		if f.total < min(first.total, total.total) {
			t.Errorf("%s: %.3f s in all, the oracles %.3f s", name, f.total, min(first.total, total.total))
		}
	}
}
