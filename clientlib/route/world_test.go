package route_test

import (
	"fmt"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// dice are draws of one seed.
type dice struct{ seed, k uint32 }

func (d *dice) n(n int) int {
	d.k++
	return route.Index(route.Draw(d.seed, d.k), n)
}

// rarely is true one time in n.
func (d *dice) rarely(n int) bool { return d.n(n) == 0 }

func pick[T any](d *dice, of ...T) T { return of[d.n(len(of))] }

// most is nearly all of a list, in order.
func (d *dice) most(of ...string) []string {
	return slices.DeleteFunc(of, func(string) bool { return d.rarely(8) })
}

const (
	worldEndpoints = 8
	worldWorkloads = 3
	wall           = 1_800_000_000 * sec // when the clock is 0
)

// The last is what a tool's endpoint has.
var worldModels = []string{"m0", "m1", "m2", ""}

// worldQuotas and worldTenants stay what they are: what was spent of them is held against them.
var (
	worldQuotas = []route.Quota{
		{Name: "q0", Requests: 600, Tokens: 1 << 40, Input: route.Absent, Output: route.Absent, Daily: route.Absent},
		{Name: "q1", Requests: 60, Tokens: 400_000, Input: route.Absent, Output: route.Absent, Daily: 5000},
		{Name: "q2", Requests: 3, Tokens: route.Absent, Input: 1_000_000, Output: 100_000, Daily: route.Absent},
		{Name: "q3", Requests: 30, Tokens: route.Absent, Input: route.Absent, Output: route.Absent, Daily: route.Absent, Fixed: true},
	}
	worldTenants = []route.Tenant{
		{Name: "default", Workloads: []string{"*"}, Caps: route.Caps{Concurrency: 3, Requests: 40, Tokens: route.Absent}, Priority: route.PriorityStandard},
		{Name: "acme", Workloads: []string{"w0", "w1"}, Regions: []string{"eu"}, Caps: route.NoCaps(), Priority: route.PriorityBatch, Reservations: []route.Reservation{{Quota: "q1", Requests: 20, Tokens: route.Absent}}},
		{Name: "bank", Workloads: []string{"*"}, Compliance: []string{"hipaa"}, Caps: route.NoCaps(), Budget: route.Budget{Has: true, Limit: 2_000_000, Warn: 0.8}},
	}
)

// randomCatalog has up to eight endpoints, most of which can serve most requests.
func randomCatalog(d *dice, now int64) *route.Catalog {
	c := &route.Catalog{Version: route.CatalogVersion{Generation: uint64(d.seed)}}
	for i := range worldEndpoints {
		if !d.rarely(6) || i == 0 {
			c.Endpoints = append(c.Endpoints, randomEndpoint(d, i, now))
		}
	}
	c.Quotas = slices.Clone(worldQuotas)
	for i := range worldWorkloads {
		c.Workloads = append(c.Workloads, randomWorkload(d, i, c.Endpoints))
	}
	if d.rarely(3) {
		c.Tenants = slices.Clone(worldTenants)
	}
	for i := range worldEndpoints {
		if d.rarely(6) {
			o := route.Override{Endpoint: fmt.Sprintf("e%d", i), Weight: route.Absent, Until: pick(d, 0, now-sec, now+sec, now+5*sec, now+20*sec)}
			switch d.n(4) {
			case 0:
				o.Drain = true
			case 1:
				o.Forced = route.ForcedOpen
			case 2:
				o.Forced = route.ForcedClosed
			default:
				o.Weight = pick(d, int64(0), 7, 5000)
			}
			c.Overrides = append(c.Overrides, o)
		}
	}
	return c
}

func randomEndpoint(d *dice, i int, now int64) route.Endpoint {
	e := route.Endpoint{
		Name: fmt.Sprintf("e%d", i), Identity: uint64(1 + d.n(9)/8), Model: worldModels[i%3], Artifact: "m@1",
		APIs: d.most("chat", "embed"), Capabilities: d.most("stream", "tools", "vision"),
		Compliance: d.most("hipaa"), Region: pick(d, "eu/west", "eu", "eu/north/1", "eu/west/2", "us"),
		ContextWindow: pick(d, int64(200_000), 200_000, 200_000, 200_000, 40_000, 1000), MaxOutputTokens: pick(d, int64(50_000), 50_000, 50_000, 0, 500),
		Weight: pick(d, int64(route.Absent), route.Absent, 100, 100, 100, 995, 5, 0), Concurrency: pick(d, int64(route.Absent), route.Absent, route.Absent, route.Absent, route.Absent, 0, 1, 3),
		Price: money.Price{Input: money.Pico(d.n(5) * 1000), Output: money.Pico(d.n(5) * 3000)},
		Breaker: breaker.Policy{
			Window: 5 * sec, SlowWindow: 60 * sec, MinSamples: pick(d, int64(3), 20), Consecutive: pick(d, int64(0), 1, 3), FailureRatio: 0.5,
			TTFTLimit: pick(d, int64(0), 2*sec), Cooldown: pick(d, int64(0), sec, 5*sec), CooldownMax: 60 * sec, Probes: 3, Ramp: 30 * sec, MaxEjected: 0.5,
		},
	}
	e.Credential = [...]string{"k0", "k0", "", "k1", "k1", "", "k2", "k3"}[i] // as long as it lives
	e.Quotas = [...][]string{{"q0"}, {"q0"}, {"q1", "q2"}, nil, {"q3"}, nil, {"q3"}, {"q1"}}[i]
	if d.rarely(2) {
		e.Metrics = "vllm"
		e.Capacity = route.Capacity{Slots: pick(d, int64(0), 1, 64), PrefillTPS: pick(d, int64(0), 1, 30_000), TPOT: pick(d, int64(0), 1, 8_000)}
	}
	if d.rarely(12) {
		e.Retires = wall + now + int64(d.n(30)-5)*sec
	}
	switch d.n(40) {
	case 0:
		e.Artifact = ""
	case 1:
		e.ContextWindow = 0
	case 2:
		e.Model, e.Artifact, e.ContextWindow, e.MaxOutputTokens = "", "", 0, 0
	}
	return e
}

func randomWorkload(d *dice, i int, endpoints []route.Endpoint) route.Workload {
	w := route.Workload{
		Name: fmt.Sprintf("w%d", i), APIs: d.most("embed", "chat", "speak"),
		Strategy: route.P2C + route.Strategy(d.n(int(route.CostTiered))), MoneyPerMS: pick(d, money.Nano(0), 10), Whole: d.rarely(3),
		FilterElsewhere: d.rarely(2),
		Attempts: route.Attempts{
			Max: int64(1 + d.n(4)), RetryRatio: 0.1, RetryReserve: 1000, SameEndpoint: int64(d.n(3) / 2),
			FirstToken: 5 * sec, Answer: 30 * sec, Stall: 5 * sec, Total: 40 * sec,
		},
	}
	w.Affinity = randomAffinity(d, w.Strategy)
	w.PreferQuality, w.EscalateQuality = d.rarely(2), d.rarely(2)
	for at := range 1 + d.n(3) {
		w.Bands = append(w.Bands, route.Band{Name: fmt.Sprint("b", at), UptoTokens: int64(1000 * (at + 1)), Models: worldModels[d.n(len(worldModels)):]})
	}
	w.Bands[len(w.Bands)-1].Models = worldModels
	if d.rarely(2) {
		w.Bands[len(w.Bands)-1].UptoTokens = route.Absent
	}
	if d.rarely(15) {
		w.Unusable = "of another time"
	}
	c := &w.Contract
	if d.rarely(12) {
		c.Requires = pick(d, []string{"vision"}, []string{"tools"}, []string{"unheard"})
	}
	if d.rarely(12) {
		c.Regions = pick(d, []string{"eu"}, []string{"us", "eu/west"}, []string{"asia"})
	}
	if d.rarely(12) {
		c.Compliance = []string{"hipaa"}
	}
	if d.rarely(12) {
		c.NeedsContext, c.NeedsOutputTokens = 30_000, 600
	}
	if d.rarely(12) {
		c.MaxTTFT = 3 * sec
	}
	tiers := 1 + d.n(3)
	for t := range tiers {
		w.Tiers = append(w.Tiers, route.Tier{Name: fmt.Sprint("t", t)})
	}
	for _, e := range endpoints {
		if !d.rarely(8) {
			t := &w.Tiers[d.n(tiers)]
			t.Endpoints = append(t.Endpoints, e.Name)
		}
	}
	return w
}

// randomAffinity is there more often than not.
func randomAffinity(d *dice, s route.Strategy) route.Affinity {
	a := route.Affinity{On: pick(d, route.AffinityNone, route.AffinityNone, route.AffinityPrefix, route.AffinitySession, route.AffinityTenant), Slack: pick(d, 1, 1.25, 2.5)}
	if rule := pick(d, route.AffinityMedian, route.AffinityScore); rule.With(s) {
		a.Rule = rule
	}
	return a
}

// randomFleet knows of some endpoints, and of some that are not there.
func randomFleet(d *dice, now int64, rounds *uint64) *route.Fleet {
	f := &route.Fleet{}
	for i := range worldEndpoints {
		if d.rarely(2) {
			continue
		}
		row := route.FleetEndpoint{Name: fmt.Sprintf("e%d", i), Identity: uint64(1 + d.n(9)/8), At: max(now-int64(d.n(40))*sec, 1), Speed: pick(d, 0, 0.5, 1, 2)}
		if d.rarely(3) {
			row.Loads = []route.FleetLoad{randomLoad(d, "a"), {Locality: "b", InFlight: uint64(d.n(3))}}
		}
		for d.rarely(3) {
			*rounds++
			row.Breakers = append(row.Breakers, route.FleetBreaker{
				Class: breaker.Class(d.n(4)), Locality: pick(d, "", "", "a", "b"), State: route.FleetState(d.n(4)), Round: *rounds, Soft: d.rarely(2),
				OpenUntil: now + int64(d.n(20)-5)*sec, RampFrom: now - int64(d.n(10))*sec, RampFor: 30 * sec, RampSuccesses: uint64(d.n(60)),
			})
		}
		f.Endpoints = append(f.Endpoints, row)
	}
	if d.rarely(3) {
		f.Workloads = []route.FleetWorkload{{Name: "w0", At: now, RetryFactor: pick(d, 0, 0.5, 1)}}
	}
	return f
}

func randomLoad(d *dice, locality string) route.FleetLoad {
	n := d.n(60)
	return route.FleetLoad{
		Locality: locality, InFlight: uint64(d.n(6)), PendingPromptTokens: pick(d, uint64(0), 900, 200_000), OutstandingTokens: uint64(d.n(9000)),
		Successes: float64(d.n(n + 1)), Samples: float64(n), Slowdown: pick(d, 0, 0.01, 1, 3.5, 60_000), SlowdownSamples: pick(d, 0, 2, 40, 1e9),
	}
}

func randomRequest(d *dice, now int64) route.Request {
	q := route.Request{
		Tenant: pick(d, "", "", "", "", "acme", "bank"), API: pick(d, "", "", "", "", "chat", "embed"), Stream: d.rarely(2),
		Input: pick(d, int64(0), 10, 900, 900, 31_990, 39_990, 150_000), MaxOutput: pick(d, int64(0), 0, 100, 100, 600, 40_000),
		Session: pick(d, "", "s1", "s2"), Prefix: pick(d, "", "once upon"),
	}
	if d.rarely(3) {
		q.Needs = pick(d, []string{"tools"}, []string{"tools"}, []string{"vision", "tools"})
	}
	switch d.n(40) {
	case 0:
		q.Tenant = "nobody"
	case 1:
		q.API = "unheard"
	case 2:
		q.Needs = []string{"unheard"}
	}
	if d.rarely(8) {
		q.Deadline = now + int64(d.n(20))*sec
	}
	if d.rarely(5) {
		q.Attempts = int64(1 + d.n(3))
	}
	return q
}

// randomOutcome is mostly a failure where the weather is bad.
func randomOutcome(d *dice, bad bool) route.Outcome {
	o := route.Outcome{Kind: pick(d, route.Served, route.Served, route.Served, route.OutcomeKind(d.n(int(route.Unsent)+1)))}
	if bad && !d.rarely(8) {
		o.Kind = pick(d, route.Faulted, route.TimedOut)
	}
	if d.rarely(2) {
		o.HasUsage, o.Usage = true, money.Usage{Input: int64(d.n(5000)), Output: int64(d.n(3000))}
	}
	if d.rarely(3) {
		o.RetryAfter = int64(1+d.n(40)) * sec / 4
	}
	return o
}
