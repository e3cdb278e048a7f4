package sim

import (
	"math"
	"testing"

	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// TestOneEngineWaitsAsQueueingTheorySays: prompts are read one after the other, so with answers of
// one token an engine is M/G/1, and what is measured from the scheduled arrival is its known mean.
func TestOneEngineWaitsAsQueueingTheorySays(t *testing.T) {
	const serve, load = 0.1 * float64(second), 0.6
	for _, tt := range []struct {
		name  string
		input func(c *chance) int64
		mean  float64 // Pollaczek and Khinchine's
	}{
		{"M/D/1", func(*chance) int64 { return 10_000 }, serve * (1 + load/2/(1-load))},
		{"M/M/1", func(c *chance) int64 { return max(1, int64(-10_000*math.Log(1-c.part()))) }, serve / (1 - load)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := small(1, 1, load*1e6/serve)
			s.Duration, s.Warmup = 7200*second, 60*second
			s.Servers["e00"] = server.Model{Own: &server.Own{PrefillTPS: 100_000, Slots: 100_000}}
			s.Catalog.Endpoints[0].ContextWindow = 10_000_000
			shaped(s, func(c *chance, a *traffic.Arrival) { a.Input, a.Output, a.MaxOutput = tt.input(c), 1, 1 })
			r := played(t, s, Policy{})
			if got := r.All.TTFT.Mean(); r.All.Served != r.All.Calls || math.Abs(got-tt.mean) > 0.04*tt.mean {
				t.Errorf("%d of %d calls wait %.0f µs in the mean, want %.0f", r.All.Served, r.All.Calls, got, tt.mean)
			}
		})
	}
}
