package route

import (
	"testing"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

func TestWhatTheFleetSaysOfLoadsIsTooOldForSmallDifferences(t *testing.T) {
	const now = 100 * second
	for rule, tt := range map[string]struct {
		fleet   [4]uint64
		ramping bool // the first
		weight  int64
		want    [4]float64
	}{
		"a small difference is none":                {fleet: [4]uint64{100, 110, 90, 100}, want: [4]float64{100, 100, 100, 100}},
		"a large one is one":                        {fleet: [4]uint64{40, 120, 120, 120}, want: [4]float64{40, 100, 100, 100}},
		"so is one upwards":                         {fleet: [4]uint64{220, 60, 60, 60}, want: [4]float64{220, 70, 70, 70}},
		"nothing there is nothing":                  {want: [4]float64{}},
		"what comes back is not the emptier for it": {fleet: [4]uint64{20, 130, 130, 120}, ramping: true, want: [4]float64{100, 110, 110, 100}},
		"nor when nobody is there yet":              {fleet: [4]uint64{0, 100, 100, 100}, ramping: true, want: [4]float64{75, 87.5, 87.5, 87.5}},
		"it may be the fuller":                      {fleet: [4]uint64{220, 60, 60, 60}, ramping: true, want: [4]float64{220, 70, 70, 70}},
		"alike is by share: three times as much of three times the weight": {fleet: [4]uint64{310, 100, 90, 100}, weight: 300, want: [4]float64{300, 100, 100, 100}},
	} {
		c := small()
		c.Workloads[0].Tiers[0].Endpoints = []string{"e0", "e1", "e2", "e3"}
		if tt.weight > 0 {
			c.Endpoints[0].Weight = tt.weight
		}
		f := &Fleet{}
		for i := range tt.fleet {
			row := FleetEndpoint{Name: c.Endpoints[i].Name, Identity: c.Endpoints[i].Identity, At: now, Loads: []FleetLoad{{InFlight: tt.fleet[i]}}}
			if i == 0 && tt.ramping {
				row.Breakers = []FleetBreaker{{Class: breaker.Any, State: FleetRamp, Round: 2, RampFrom: now, RampFor: 30 * second}}
			}
			f.Endpoints = append(f.Endpoints, row)
		}
		r := NewRouter()
		r.Apply(now, made(t, nil, c, f))
		p := r.pool(now, r.works["w0"], &ask{apis: r.snapshot.static.workloads["w0"].apis, classes: anyClass})
		for i, want := range tt.want {
			if got := r.loadIn(now, p, int32(i)); got != want {
				t.Errorf("%s: endpoint %d has load %v, want %v", rule, i, got, want)
			}
		}
		if got := r.loadIn(now+silence, p, 1); got != 0 {
			t.Errorf("%s: without news for 30 s the load is %v", rule, got)
		}
	}
}
