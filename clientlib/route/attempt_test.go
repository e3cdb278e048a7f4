package route

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

const outstandingAttempts = 512

var quiet = breaker.Policy{Window: 5 * second, SlowWindow: 60 * second, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5, TTFTLimit: 10 * second, Cooldown: second, CooldownMax: 60 * second}

// traffic sends attempts without choosing: what they cost from then on.
type traffic struct {
	router  *Router
	pool    *pool
	flights [outstandingAttempts]struct {
		call    Call
		attempt Attempt
	}
	now  int64
	n    uint32
	used Outcome
}

func newTraffic(tb testing.TB, endpoints int, policy breaker.Policy) *traffic {
	c := &Catalog{}
	tier := Tier{Name: "all"}
	for i := range endpoints {
		name := fmt.Sprintf("e%04d", i)
		tier.Endpoints = append(tier.Endpoints, name)
		c.Endpoints = append(c.Endpoints, Endpoint{
			Name: name, Model: "m", Artifact: "m@1", APIs: []string{"chat"}, Capabilities: []string{capStream, capTools}, ContextWindow: 100_000,
			MaxOutputTokens: 100_000, Weight: 100, Concurrency: Absent, Price: money.Price{Input: 1000, Output: 3000}, Breaker: policy,
		})
	}
	c.Workloads = []Workload{{
		Name: "w", APIs: []string{"chat"}, Strategy: P2C, Tiers: []Tier{tier},
		Attempts: Attempts{Max: 3, RetryReserve: 10, RetryRatio: 0.1, FirstToken: 10 * second, Answer: 60 * second, Total: 100 * second},
	}}
	s, err := Compile(nil, c, nil, Local{})
	if err != nil {
		tb.Fatal(err)
	}
	t := &traffic{router: NewRouter(), now: second, used: Outcome{Kind: Served, HasUsage: true, Usage: money.Usage{Input: 1000, Output: 300}}}
	t.router.Apply(t.now, s)
	t.pool = t.router.pool(t.now, t.router.works["w"], &ask{apis: s.static.workloads["w"].apis, classes: anyClass})
	for range 20*endpoints + 2*outstandingAttempts {
		t.step()
	}
	return t
}

// step is one attempt: it settles one, marks the first token of a younger one, and sends one.
func (t *traffic) step() {
	t.n++
	t.now += 50
	f := &t.flights[t.n%outstandingAttempts]
	t.router.Settle(t.now, f.attempt, t.used)
	t.router.FirstToken(t.now, t.flights[(t.n-100)%outstandingAttempts].attempt)
	u := Draw(t.n, 0)
	p := t.pool
	p.ask.classes = breaker.ClassSet(u%combinations)<<1 | anyClass
	f.call.workload, f.call.began = "w", t.now
	f.call.request = Request{Stream: p.ask.classes&streamClass != 0, Input: 1000, MaxOutput: 400}
	m := t.router.member(p.work, int32(Index(u, len(t.router.current))))
	var step Step
	t.router.send(t.now, p, &m, &f.call, probe{}, &step)
	f.attempt = step.Attempt
}

// BenchmarkAttempt is what an attempt costs once its endpoint is chosen: send, FirstToken
// and Settle, with 512 outstanding, in every combination of classes.
func BenchmarkAttempt(b *testing.B) {
	for name, policy := range map[string]breaker.Policy{"watched": quiet, "bare": {}} {
		for _, n := range []int{16, 1024} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				t := newTraffic(b, n, policy)
				if name == "bare" {
					for _, l := range t.router.current {
						l.breaker.SetPolicy(nil)
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					t.step()
				}
			})
		}
	}
}
