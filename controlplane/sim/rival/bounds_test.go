package rival

import (
	"errors"
	"math"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// list is a source of arrivals, with an error at its end if there is one.
type list struct {
	arrivals []traffic.Arrival
	err      error
}

func (l *list) Next(a *traffic.Arrival) (bool, error) {
	if len(l.arrivals) == 0 {
		return false, l.err
	}
	*a, l.arrivals = l.arrivals[0], l.arrivals[1:]
	return true, nil
}

func scene(arrivals []traffic.Arrival, err error, servers map[string]server.Model) *sim.Scenario {
	return &sim.Scenario{Name: "scene", Warmup: 1e6, Duration: 9e6, Servers: servers,
		Catalog: &route.Catalog{Workloads: []route.Workload{{Name: "small", Tiers: []route.Tier{{Endpoints: []string{"slow"}}}}}},
		Traffic: func(uint64) (traffic.Source, error) { return &list{arrivals, err}, nil }}
}

// A slow server does 5 tokens a ms, a fast one 15.
func twoEngines(cache int64) map[string]server.Model {
	return map[string]server.Model{
		"slow": {Own: &server.Own{Speed: 0.5, CacheTokens: cache}},
		"fast": {Own: &server.Own{Speed: 1.5}},
	}
}

func TestBoundsByHand(t *testing.T) {
	for _, c := range []struct {
		rule         string
		arrivals     []traffic.Arrival
		cache        int64
		zero, pooled float64 // ms
	}{
		{"one alone", []traffic.Arrival{{At: 1e6, Input: 3000}}, 0, 200, 150},
		{"a workload has its own endpoints", []traffic.Arrival{{At: 1e6, Input: 3000, Request: traffic.Request{Workload: "small"}}}, 0, 600, 150},
		{"what comes before the warm-up and after the end is not there", []traffic.Arrival{{At: 0, Input: 1e6}, {At: 2e6, Input: 3000}, {At: 9e6, Input: 10}}, 0, 200, 150},
		{"the shortest is first", []traffic.Arrival{{At: 1e6, Input: 3000}, {At: 1e6, Input: 1000}}, 0, 400.0 / 3, (50 + 200) / 2},
		{"a shorter rest goes before", []traffic.Arrival{{At: 1e6, Input: 3000}, {At: 1.1e6, Input: 2000}}, 0, 500.0 / 3, (150 + 150) / 2},
		{"a longer rest waits", []traffic.Arrival{{At: 1e6, Input: 3000}, {At: 1.1e6, Input: 600}}, 0, 120, (180 + 30) / 2},
		{"whole leading blocks are cached once they came", []traffic.Arrival{{At: 0, Input: 1024, Blocks: []uint64{1, 2}},
			{At: 1e6, Input: 1536 + 300, Blocks: []uint64{1, 2, 3}}}, 4096, (512 + 300) / 15.0, (512 + 300) / 20.0},
		{"nobody caches", []traffic.Arrival{{At: 0, Input: 1024, Blocks: []uint64{1, 2}}, {At: 1e6, Input: 1024, Blocks: []uint64{1, 2}}}, 0, 1024 / 15.0, 1024 / 20.0},
	} {
		l, err := Bounds(scene(c.arrivals, nil, twoEngines(c.cache)), 1)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(l.ZeroTTFT/1e3-c.zero) > 1e-6 || math.Abs(l.PooledTTFT/1e3-c.pooled) > 1e-6 {
			t.Errorf("%s: %v and %v ms, want %v and %v", c.rule, l.ZeroTTFT/1e3, l.PooledTTFT/1e3, c.zero, c.pooled)
		}
	}
}

func TestBoundsPassATracesErrorOn(t *testing.T) {
	want := errors.New("trace.csv:7")
	if _, err := Bounds(scene(nil, want, twoEngines(0)), 1); !errors.Is(err, want) {
		t.Error(err)
	}
}

func TestPooledBoundIsBelowEveryPolicy(t *testing.T) {
	w := &arena{speeds: pool40(), clients: 50, load: 0.9, seconds: 120}
	rate := 0.0
	servers := map[string]server.Model{}
	for i, s := range w.speeds {
		m := server.Model{Own: &server.Own{Speed: s}}
		rate += w.load * m.Capacity(meanIn, meanOut)
		servers[string(rune('a'+i))] = m
	}
	s := scene(w.arrivals(rate, 1), nil, servers)
	s.Warmup, s.Duration = w.seconds*1e6/5, w.seconds*1e6
	l, err := Bounds(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	best := w.play(t, "clairvoyant", nil, 1).mean
	if bound := max(l.ZeroTTFT, l.PooledTTFT) / 1e6; bound <= 0 || bound > best {
		t.Errorf("bound %.4f s, the best policy %.4f s", bound, best)
	}
}

func TestPossibleHitsAreThoseOfOneCacheThatForgetsNothing(t *testing.T) {
	arrivals := []traffic.Arrival{
		{At: 0, Input: 1024, Blocks: []uint64{1, 2}}, // before the warm-up: seen, and not counted
		{At: 1e6, Input: 1536, Blocks: []uint64{1, 2, 3}},
		{At: 2e6, Input: 464, Blocks: []uint64{9}},
	}
	for cache, want := range map[int64]float64{4096: 1024.0 / 2000, 0: 0} {
		l, err := Bounds(scene(arrivals, nil, twoEngines(cache)), 1)
		if err != nil || math.Abs(l.HitRate-want) > 1e-9 {
			t.Errorf("caches of %d tokens: %v, %v, want %v", cache, l.HitRate, err, want)
		}
	}
}
