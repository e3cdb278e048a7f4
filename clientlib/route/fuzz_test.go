package route

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// drill runs a router through orders that bytes name, and checks what must hold after each.
type drill struct {
	t        testing.TB
	bytes    []byte
	now      int64
	router   *Router
	snapshot *Snapshot
	tried    [4]Call
	attempts []Attempt
}

func (d *drill) next() byte {
	if len(d.bytes) == 0 {
		return 0
	}
	b := d.bytes[0]
	d.bytes = d.bytes[1:]
	return b
}

func (d *drill) catalog(b byte) *Catalog {
	c := &Catalog{Version: CatalogVersion{Generation: uint64(b)}}
	names := []string{"a", "b", "c", "d"}
	for i, name := range names {
		if b>>i&1 != 0 && i > 0 {
			continue
		}
		c.Endpoints = append(c.Endpoints, Endpoint{
			Name: name, Identity: uint64(i) + uint64(b>>7), Model: "m", Artifact: "m@1", APIs: []string{"chat"}, Capabilities: []string{"stream", "tools"},
			ContextWindow: 100_000, MaxOutputTokens: 10_000, Weight: int64(100 * (i + 1)), Concurrency: either(i == 1, int64(2), Absent), Credential: names[i/2],
			Price:   money.Price{Input: 1000, Output: 3000},
			Breaker: breaker.Policy{Window: 5 * second, SlowWindow: 60 * second, MinSamples: 5, Consecutive: 3, FailureRatio: 0.5, TTFTLimit: 2 * second, Cooldown: second, CooldownMax: 60 * second},
		})
	}
	w := Workload{
		Name: "w", APIs: []string{"chat"}, Strategy: P2C + Strategy(b>>4%3), MoneyPerMS: 10, Whole: b>>6&1 != 0,
		Attempts: Attempts{Max: 3, RetryRatio: 0.1, RetryReserve: 10, SameEndpoint: int64(b >> 5 & 1), FirstToken: 5 * second, Total: 20 * second},
		Tiers:    []Tier{{Name: "first"}, {Name: "second"}},
	}
	for i, e := range c.Endpoints {
		w.Tiers[i/2].Endpoints = append(w.Tiers[i/2].Endpoints, e.Name)
	}
	c.Workloads = []Workload{w}
	if b>>2&3 == 3 {
		c.Overrides = []Override{{Endpoint: "a", Drain: true, Weight: Absent, Until: d.now + 5*second}}
	}
	return c
}

func (d *drill) fleet(b byte) *Fleet {
	return &Fleet{Endpoints: []FleetEndpoint{{
		Name: "b", Identity: 1, At: d.now, Speed: float64(b%4) / 2, Loads: []FleetLoad{{InFlight: uint64(b % 8)}},
		Breakers: []FleetBreaker{{Class: breaker.Class(b >> 3 % 4), State: FleetState(b >> 5 % 4), Round: uint64(b), OpenUntil: d.now + second, RampFrom: d.now, RampFor: 30 * second, Soft: b&1 != 0}},
	}}}
}

func (d *drill) apply(b byte) {
	c, f := d.catalog(b), d.fleet(d.next())
	if d.snapshot != nil && b%4 == 0 {
		c = d.snapshot.Catalog()
	}
	s, err := Compile(d.snapshot, c, f, Local{})
	if err != nil {
		d.t.Fatal(err)
	}
	d.snapshot = s
	d.router.Apply(d.now, s)
}

func (d *drill) pick(b byte) {
	c := &d.tried[b%4]
	q := Request{Stream: b&4 != 0, Input: int64(b) * 100, MaxOutput: 100}
	if b&8 != 0 {
		q.Needs = []string{"tools"}
	}
	if !c.open && b&16 == 0 {
		*c = d.router.Begin(d.now, "w", q)
	}
	before := d.gated(c)
	step := d.router.Next(d.now, uint32(b)*7919+uint32(d.now), c)
	if step.Kind != Send {
		return
	}
	d.attempts = append(d.attempts, step.Attempt)
	if why := before[step.Endpoint.Name]; why != Pass && !(step.Probe && why == ReasonBreakerOpen) {
		d.t.Fatalf("%s was picked though %v", step.Endpoint.Name, why)
	}
}

// gated is the answer of every gate, as Explain has it, before the pick.
func (d *drill) gated(c *Call) map[string]Reason {
	all := map[string]Reason{}
	for _, v := range d.router.Explain(d.now, c.workload, c.request).Candidates {
		all[v.Endpoint] = v.Reason
	}
	for _, l := range c.tried[:c.excluded] {
		all[l.name] = ReasonExcluded
	}
	return all
}

func (d *drill) end(b byte) {
	if len(d.attempts) == 0 {
		return
	}
	a := d.attempts[int(b)%len(d.attempts)] // also those that have ended
	switch b >> 4 % 4 {
	case 0:
		d.router.FirstToken(d.now, a)
	case 1:
		d.router.Content(d.now, a)
	default:
		d.router.Settle(d.now, a, Outcome{Kind: OutcomeKind(d.next() % byte(outcomeKinds)), RetryAfter: int64(b) * 10_000, HasUsage: b&1 != 0, Usage: money.Usage{Input: 10, Output: 20}})
	}
}

func (d *drill) step() {
	b := d.next()
	d.now += int64(d.next()) * 5_000
	switch b % 8 {
	case 0:
		d.apply(d.next())
	case 1:
		d.now += int64(d.next()) * 200_000
		if next := d.router.Tick(d.now); next <= d.now {
			d.t.Fatalf("tick again at %d, which is not after %d", next, d.now)
		}
	case 2:
		d.router.Grant(d.now, Permit{Number: uint64(b), Endpoint: "b", Identity: 1, Class: breaker.Class(d.next() % 4), Round: uint64(b), UseBy: d.now + 2*second})
	case 3:
		d.router.Report(d.now)
		d.router.Events(nil)
	case 4, 5:
		d.pick(d.next())
	default:
		d.end(d.next())
	}
	d.check()
}

// check: nothing is negative, and what endpoints count is what is in flight.
func (d *drill) check() {
	inFlight := map[*learned]int64{}
	for i := range d.router.slots {
		if s := &d.router.slots[i]; s.serial != 0 {
			inFlight[s.learned]++
		}
	}
	for _, l := range d.router.learned {
		if l.inFlight != inFlight[l] {
			d.t.Fatalf("%s: in flight %d, want %d", l.name, l.inFlight, inFlight[l])
		}
		for _, t := range l.tallies {
			for _, c := range t.cells {
				if c.inFlight < 0 || c.pending < 0 || c.tokens < 0 || c.inFlight == 0 && c.pending+c.tokens > 0 {
					d.t.Fatalf("%s %s: %+v", l.name, t.workload, c)
				}
			}
		}
	}
	for _, w := range d.router.works {
		if w.budget.tokens < 0 {
			d.t.Fatalf("%g retry tokens", w.budget.tokens)
		}
	}
}

// finish ends everything: nothing may be left counted.
func (d *drill) finish() {
	d.now += 3600 * second
	d.router.Tick(d.now)
	for _, l := range d.router.learned {
		if l.inFlight != 0 || l.oldest >= 0 || l.newest >= 0 {
			d.t.Fatalf("%s keeps in flight %d", l.name, l.inFlight)
		}
	}
	if len(d.router.free) != len(d.router.slots) {
		d.t.Fatalf("%d of %d slots are free", len(d.router.free), len(d.router.slots))
	}
	d.check()
}

func FuzzAnyOrder(f *testing.F) {
	for seed := range uint32(24) {
		orders := make([]byte, 3000)
		for i := range orders {
			orders[i] = byte(Draw(seed, uint32(i)) >> 13)
		}
		f.Add(orders)
	}
	f.Fuzz(func(t *testing.T, orders []byte) {
		d := &drill{t: t, bytes: orders, now: 1, router: NewRouter()}
		d.apply(0)
		for len(d.bytes) > 0 {
			d.step()
		}
		d.finish()
	})
}

func TestTheSameOrdersGiveTheSameAnswers(t *testing.T) {
	run := func() string {
		orders := make([]byte, 20_000)
		for i := range orders {
			orders[i] = byte(Draw(7, uint32(i)) >> 9)
		}
		d := &drill{t: t, bytes: orders, now: 1, router: NewRouter()}
		d.apply(0)
		var out string
		for len(d.bytes) > 0 {
			d.step()
			out += fmt.Sprint(d.router.Events(nil), len(d.attempts), d.router.Endpoints(d.now, nil))
		}
		return out
	}
	if first, second := run(), run(); first != second {
		t.Error("two runs of the same orders differ")
	}
}
