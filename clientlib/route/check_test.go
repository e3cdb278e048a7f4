package route

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// whole is a catalog in which every block says something that is right.
func whole() *Catalog {
	c := small()
	c.Quotas = []Quota{{Name: "q", Requests: 10, Tokens: 100, Input: Absent, Output: Absent, Daily: 1}}
	e := &c.Endpoints[0]
	e.Quotas, e.Retires, e.Capacity = []string{"q"}, math.MaxInt64, Capacity{Slots: 8, PrefillTPS: 1, TPOT: 1}
	e.Price = money.Price{Input: 1, Above: []money.Above{{Tokens: 5, Input: 2}, {Tokens: 6}}}
	c.Workloads[0].Affinity = Affinity{On: AffinityPrefix, Slack: 2.5}
	for _, name := range []string{"a", "b"} {
		c.Tenants = append(c.Tenants, Tenant{
			Name: name, Workloads: []string{"*"}, Priority: PriorityBatch, Caps: Caps{Concurrency: 2, Requests: 100, Tokens: Absent},
			Budget:       Budget{Has: true, Limit: mostMoney, Warn: 0.8},
			Reservations: []Reservation{{Quota: "q", Requests: 5, Tokens: Absent}},
		})
	}
	c.Overrides = []Override{{Endpoint: "e0", Weight: Absent, Drain: true, Until: -1}}
	return c
}

func TestCompileRefusesByFieldName(t *testing.T) {
	if _, err := Compile(nil, whole(), nil, Local{}); err != nil {
		t.Fatalf("what is right is refused: %v", err)
	}
	const huge = math.MaxInt64
	for want, change := range map[string]func(*Catalog){
		"more than 127 different": func(c *Catalog) {
			for i := range maxNames + 1 {
				c.Endpoints[0].Compliance = append(c.Endpoints[0].Compliance, fmt.Sprint(i))
			}
		},
		`endpoints["e0"].name: empty or twice`:                 func(c *Catalog) { c.Endpoints[1].Name = "e0" },
		`endpoints["e0"].context_window: 92`:                   func(c *Catalog) { c.Endpoints[0].ContextWindow = huge },
		`endpoints["e0"].max_output_tokens: -1`:                func(c *Catalog) { c.Endpoints[0].MaxOutputTokens = -1 },
		`endpoints["e0"].weight: 1000000001, want at most`:     func(c *Catalog) { c.Endpoints[0].Weight = mostWeight + 1 },
		`endpoints["e0"].concurrency: -2`:                      func(c *Catalog) { c.Endpoints[0].Concurrency = -2 },
		`endpoints["e0"].retires: -1`:                          func(c *Catalog) { c.Endpoints[0].Retires = -1 },
		`endpoints["e0"].capacity.slots: -1`:                   func(c *Catalog) { c.Endpoints[0].Capacity.Slots = -1 },
		`endpoints["e0"].capacity.prefill_tps: 92`:             func(c *Catalog) { c.Endpoints[0].Capacity.PrefillTPS = huge },
		`endpoints["e0"].capacity.tpot: 92`:                    func(c *Catalog) { c.Endpoints[0].Capacity.TPOT = huge },
		`endpoints["e0"].price.output: -1`:                     func(c *Catalog) { c.Endpoints[0].Price.Output = -1 },
		`endpoints["e0"].price.above[5].tokens: 5, want at`:    func(c *Catalog) { c.Endpoints[0].Price.Above[1].Tokens = 5 },
		`endpoints["e0"].price.above[6].cache_write: 92`:       func(c *Catalog) { c.Endpoints[0].Price.Above[1].CacheWrite = huge },
		`endpoints["e3"].breaker.cooldown: -1, want`:           func(c *Catalog) { c.Endpoints[3].Breaker.Cooldown = -1 },
		`endpoints["e3"].breaker.ramp: 2592000000001, want at`: func(c *Catalog) { c.Endpoints[3].Breaker.Ramp = mostTime + 1 },
		`endpoints["e3"].breaker.min_samples: 92`:              func(c *Catalog) { c.Endpoints[3].Breaker.MinSamples = huge },
		`endpoints["e3"].breaker.max_ejected: NaN`:             func(c *Catalog) { c.Endpoints[3].Breaker = breaker.Policy{MaxEjected: math.NaN()} },
		`workloads["w0"].strategy: 200 is not known`:           func(c *Catalog) { c.Workloads[0].Strategy = 200 },
		`workloads["w0"].affinity.on: 9 is not known`:          func(c *Catalog) { c.Workloads[0].Affinity.On = 9 },
		`workloads["w0"].affinity.slack: NaN`:                  func(c *Catalog) { c.Workloads[0].Affinity.Slack = math.NaN() },
		`workloads["w0"].affinity.slack: 0.5, want 1 to`:       func(c *Catalog) { c.Workloads[0].Affinity.Slack = 0.5 },
		`workloads["w0"].attempts.max: 0`:                      func(c *Catalog) { c.Workloads[0].Attempts.Max = 0 },
		`workloads["w0"].attempts.total: 92`:                   func(c *Catalog) { c.Workloads[0].Attempts.Total = huge },
		`workloads["w0"].attempts.stall: 92`:                   func(c *Catalog) { c.Workloads[0].Attempts.Stall = huge },
		`workloads["w0"].attempts.retry_reserve: 92`:           func(c *Catalog) { c.Workloads[0].Attempts.RetryReserve = huge },
		`workloads["w0"].attempts.retry_ratio: +Inf`:           func(c *Catalog) { c.Workloads[0].Attempts.RetryRatio = math.Inf(1) },
		`workloads["w0"].contract.max_ttft: 92`:                func(c *Catalog) { c.Workloads[0].Contract.MaxTTFT = huge },
		`workloads["w0"].contract.needs_context: -1`:           func(c *Catalog) { c.Workloads[0].Contract.NeedsContext = -1 },
		`workloads["w0"].money_per_ms: 92`:                     func(c *Catalog) { c.Workloads[0].MoneyPerMS = huge },
		`quotas[""].name: empty or twice`:                      func(c *Catalog) { c.Quotas = append(c.Quotas, Quota{}) },
		`quotas["q"].name: empty or twice`:                     func(c *Catalog) { c.Quotas = append(c.Quotas, c.Quotas[0]) },
		`quotas["q"].requests: 0, want at least 1`:             func(c *Catalog) { c.Quotas[0].Requests = 0 },
		`quotas["q"].tokens: -2`:                               func(c *Catalog) { c.Quotas[0].Tokens = -2 },
		`quotas["q"].input: 92`:                                func(c *Catalog) { c.Quotas[0].Input = huge },
		`quotas["q"].output: 0`:                                func(c *Catalog) { c.Quotas[0].Output = 0 },
		`quotas["q"].daily: 92`:                                func(c *Catalog) { c.Quotas[0].Daily = huge },
		`quotas["q"].requests: 9, but tenants reserve 10`:      func(c *Catalog) { c.Quotas[0].Requests = 9 },
		`quotas["q"].tokens: 100, but tenants reserve 101`:     func(c *Catalog) { c.Tenants[1].Reservations[0].Tokens = 101 },
		`tenants[""].name`:                                     func(c *Catalog) { c.Tenants[0].Name = "" },
		`tenants["a"].name`:                                    func(c *Catalog) { c.Tenants[1].Name = "a" },
		`tenants["a"].priority: 3 is not known`:                func(c *Catalog) { c.Tenants[0].Priority = 3 },
		`tenants["a"].caps.concurrency: -2`:                    func(c *Catalog) { c.Tenants[0].Caps.Concurrency = -2 },
		`tenants["a"].caps.requests: 0, want at least 1`:       func(c *Catalog) { c.Tenants[0].Caps.Requests = 0 },
		`tenants["a"].caps.tokens: 92`:                         func(c *Catalog) { c.Tenants[0].Caps.Tokens = huge },
		`tenants["a"].budget.limit: -1`:                        func(c *Catalog) { c.Tenants[0].Budget.Limit = -1 },
		`tenants["a"].budget.warn: NaN`:                        func(c *Catalog) { c.Tenants[0].Budget.Warn = math.NaN() },
		`tenants["a"].reservations["z"].quota: not there`:      func(c *Catalog) { c.Tenants[0].Reservations[0].Quota = "z" },
		`tenants["a"].reservations["q"].quota: not there, or reserved twice`: func(c *Catalog) {
			c.Tenants[0].Reservations = append(c.Tenants[0].Reservations, Reservation{Quota: "q", Requests: Absent, Tokens: 1})
		},
		`tenants["a"].reservations["q"].requests: 0`: func(c *Catalog) { c.Tenants[0].Reservations[0].Requests = 0 },
		`tenants["a"].reservations["q"].tokens: 92`:  func(c *Catalog) { c.Tenants[0].Reservations[0].Tokens = huge },
		`overrides["e0"].forced: 9 is not known`:     func(c *Catalog) { c.Overrides[0].Forced = 9 },
		`overrides["e0"].weight: -2`:                 func(c *Catalog) { c.Overrides[0].Weight = -2 },
		`overrides["e0"].weight: 1000000001`:         func(c *Catalog) { c.Overrides[0].Weight = mostWeight + 1 },
	} {
		c := whole()
		change(c)
		if _, err := Compile(nil, c, nil, Local{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// On the clock of a process that started after it, an override's end may be negative.
func TestAnOverrideThatEndedBeforeTheClocksBaseStandsForNothing(t *testing.T) {
	r := NewRouter()
	r.Apply(1, made(t, nil, whole(), nil)) // it drains e0
	if got := r.Explain(1, "w0", Request{Tenant: "a", API: "chat"}); got.Candidates[0].Reason != Pass {
		t.Errorf("%+v", got.Candidates)
	}
}
