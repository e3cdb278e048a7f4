package rival

import (
	"math"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// prequalSettings have the values that serve prequal best on a pool of 40 servers, speeds 0.5, 1
// and 2, and 50 clients (figures: see published): few probes, used once and fresh.
var prequalSettings = []setting{
	{"quantile", 0.8, 0, 1},   // of requests in flight: above it a probe is hot
	{"probes", 3, 0.01, 100},  // per query
	{"pool", 16, 2, 1000},     // probes kept
	{"age", 0.5, 0.001, 3600}, // seconds that one is good for
	{"remove", 0, 0, 100},     // per query, the oldest and the worst by turns
	{"delta", 0, 0, 100},      // of the reuse formula
	{"delay", 0.001, 0, 10},   // seconds until the answer to a probe is there
	{"idle", 0.45, 0, 3600},   // seconds without probes until a client sends some unasked; 0: never
	{"aversion", 3, 0, 10},    // power of the success rate that loads are divided by; 0: none
}

// published are the constants of the paper, with probing of idle clients so often that a pool
// never runs empty. On those servers, p99 time to first token at load 0.6, 0.9, and 0.8 with four
// of them at 0.3 of their speed: 2.0, 3.3, 2.5 s so; 1.7, 2.5, 2.2 s as prequal has it. There,
// quantiles from 0.6 to 0.95 give 1.7 to 1.9, 2.3 (at 0.7) to 2.7, and 2.1 (at 0.84) to 2.7 s (at
// 0.6). Without idle probes, clients that ask little choose blindly: 85 s with slow servers.
func published() []setting {
	paper := map[string]float64{"quantile": 0.84, "age": 1, "remove": 1, "delta": 1, "idle": 0.9}
	out := slices.Clone(prequalSettings)
	for i := range out {
		if v, known := paper[out[i].name]; known {
			out[i].is = v
		}
	}
	return out
}

// prequal is Prequal with asynchronous probes (Wydrowski, Kleinberg, Rumble, Archer: Load is
// not what you should balance, NSDI 2024): a query chooses from a pool of earlier answers, and
// sends probes for later queries. It knows its probes: 3 a query, and 3 more whenever a client
// sent none for 0.45 s (the paper lets idle clients probe too), which is as often again at 2
// queries a second and client. Each tells one server's requests in flight, of all clients, the
// latency of recent requests that came when about as many were, and the success rate. They
// cost the servers nothing here, which flatters it.
type prequal struct {
	tuning
	servers []*server.Server
	pools   lanes[pool]
	timers  timers
	health  *health
	scratch []int32
}

// tuning is what was set. Times are µs.
type tuning struct {
	quantile, probes, remove, delta float64
	size                            int
	age, delay, idle                int64
}

func startPrequal(v *sim.View, is map[string]float64) sim.Rival {
	r := &prequal{servers: v.Servers, health: newHealth(v, is["aversion"]), tuning: tuning{
		quantile: is["quantile"], probes: is["probes"], remove: is["remove"], delta: is["delta"], size: int(is["pool"]),
		age: int64(is["age"] * 1e6), delay: int64(is["delay"] * 1e6), idle: int64(is["idle"] * 1e6)}}
	r.pools = newLanes(v.Clients, func(lane int) *pool {
		return &pool{draws: drawsOf(uint32(v.Seed) + uint32(lane))}
	})
	return r
}

// Choose takes the best probe, a random endpoint without two of them, and sends the next ones.
func (r *prequal) Choose(now int64, q *sim.Query) int {
	r.tick(now)
	p, d := r.pools.of(q.Client, q.Arrival), drawsOf(q.Seed)
	p.settle(now, &r.tuning)
	p.eligible = append(p.eligible[:0], q.Eligible...)
	place, known := r.best(p, &d)
	if !known {
		place = q.Eligible[d.index(len(q.Eligible))]
	}
	p.use(place)
	p.shrink(&r.tuning)
	r.probe(now, p, &d, place)
	return indexOf(q.Eligible, place)
}

// best is the choice among at least two probes of endpoints that are eligible now.
func (r *prequal) best(p *pool, d *draws) (int32, bool) {
	p.ready = p.ready[:0]
	for _, b := range p.probes {
		if indexOf(p.eligible, b.place) >= 0 {
			p.ready = append(p.ready, b)
		}
	}
	if len(p.ready) < 2 {
		return 0, false
	}
	return p.ready[choose(p.ready, p.recent.quantile(r.quantile), d)].place, true
}

// probe asks servers, drawn without replacement, and sets the time for idle probes anew.
// Whoever is asked has not counted this query yet, which goes to chosen.
func (r *prequal) probe(now int64, p *pool, d *draws, chosen int32) {
	p.carry += r.probes
	whole := math.Floor(p.carry)
	p.carry -= whole
	r.scratch = append(r.scratch[:0], p.eligible...)
	uses := r.reuse(len(p.eligible))
	for _, place := range d.sample(r.scratch, int(whole)) {
		flight, latency := r.servers[place].Probe(now)
		p.recent.add(int32(flight))
		if place == chosen {
			flight++
		}
		p.coming = append(p.coming, probe{place: place, at: now, flight: int32(flight), latency: latency,
			health: r.health.of(now, place), uses: rounded(uses, d)})
	}
	p.probed = now
	if r.idle > 0 {
		r.timers.add(now+r.idle, p)
	}
}

// reuse is how often a probe serves: b = max(1, (1+δ) ÷ ((1 − m/n)·probes − remove)). Where
// removal and replacement would outrun the probes the formula has no answer: use is free, and
// age alone ends a probe.
func (r *prequal) reuse(n int) float64 {
	rest := (1-float64(min(r.size, n))/float64(n))*r.probes - r.remove
	if rest <= 0 {
		return math.MaxInt32
	}
	return max(1, (1+r.delta)/rest)
}

// rounded is x up or down, right on average.
func rounded(x float64, d *draws) int32 {
	whole := math.Floor(x)
	if d.unit() < x-whole {
		whole++
	}
	return int32(min(whole, math.MaxInt32))
}

// tick lets idle clients probe.
func (r *prequal) tick(now int64) {
	for p := r.timers.due(now, r.idle); p != nil; p = r.timers.due(now, r.idle) {
		r.probe(now, p, &p.draws, route.Absent)
	}
}

// Sent lets time pass.
func (r *prequal) Sent(now int64, _, _ int32, _ *traffic.Arrival) { r.tick(now) }

// First lets time pass.
func (r *prequal) First(now int64, _, _ int32, _ int64) { r.tick(now) }

// Ended learns whether it was served.
func (r *prequal) Ended(now int64, _, place int32, kind route.OutcomeKind) {
	r.tick(now)
	r.health.learn(now, place, kind)
}
