package route

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// faults gathers everything that is wrong, each with the name of its field.
type faults struct{ all []error }

func (f *faults) add(format string, args ...any) {
	f.all = append(f.all, fmt.Errorf(format, args...))
}

func (f *faults) err() error { return errors.Join(f.all...) }

// What nothing sensible exceeds. Sums and products over a whole catalog stay in range.
const (
	mostCount  = 1 << 40 // tokens, requests, samples
	mostWeight = 1_000_000_000
	mostTime   = 30 * 24 * 3600 * second
	mostPrice  = 1_000_000_000_000         // $1,000,000 per million tokens
	mostMoney  = 1_000_000_000_000_000_000 // $1,000,000,000
	mostFactor = 1000
	mostQuotas = 15 // of an endpoint: an attempt remembers what it took each of
)

type number struct {
	name  string
	value int64
}

func (f *faults) between(least, most int64, where string, numbers ...number) {
	for _, n := range numbers {
		if n.value < least {
			f.add("%s.%s: %d, want at least %d", where, n.name, n.value, least)
		}
		if n.value > most {
			f.add("%s.%s: %d, want at most %d", where, n.name, n.value, most)
		}
	}
}

func (f *faults) times(where string, numbers ...number) { f.between(0, mostTime, where, numbers...) }

func (f *faults) counts(where string, numbers ...number) { f.between(0, mostCount, where, numbers...) }

// limits are those that divide: what is there is above zero.
func (f *faults) limits(where string, numbers ...number) {
	for _, n := range numbers {
		if n.value != Absent {
			f.between(1, mostCount, where, n)
		}
	}
}

func (f *faults) within(low, high float64, where string, v float64) {
	if !(v >= low && v <= high) { // what is no number is not within
		f.add("%s: %g, want %g to %g", where, v, low, high)
	}
}

// unique checks that names of one kind are there, once, and fit for headers and logs.
func (f *faults) unique(kind string, seen map[string]bool, name string) {
	if name == "" || seen[name] {
		f.add("%s[%q].name: empty or twice", kind, name)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		f.add("%s[%q].name: not printable", kind, name)
	}
	seen[name] = true
}

// checkQuotas gives them by name, for those who refer to them.
func checkQuotas(c *Catalog, f *faults) map[string]*Quota {
	seen, quotas := map[string]bool{}, make(map[string]*Quota, len(c.Quotas))
	for i := range c.Quotas {
		q := &c.Quotas[i]
		f.unique("quotas", seen, q.Name)
		f.limits(fmt.Sprintf("quotas[%q]", q.Name),
			number{"requests", q.Requests}, number{"tokens", q.Tokens}, number{"input", q.Input},
			number{"output", q.Output}, number{"daily", q.Daily})
		quotas[q.Name] = q
	}
	return quotas
}

func checkTenants(c *Catalog, f *faults) {
	quotas, seen := checkQuotas(c, f), map[string]bool{}
	reserved := map[string]Reservation{} // by quota, over all tenants
	for i := range c.Tenants {
		t := &c.Tenants[i]
		where := fmt.Sprintf("tenants[%q]", t.Name)
		f.unique("tenants", seen, t.Name)
		if t.Priority >= priorities {
			f.add("%s.priority: %d is not known", where, t.Priority)
		}
		f.between(Absent, mostCount, where+".caps", number{"concurrency", t.Caps.Concurrency})
		f.limits(where+".caps", number{"requests", t.Caps.Requests}, number{"tokens", t.Caps.Tokens})
		f.between(0, mostMoney, where+".budget", number{"limit", int64(t.Budget.Limit)})
		f.within(0, 1, where+".budget.warn", t.Budget.Warn)
		checkReservations(t, where, quotas, reserved, f)
	}
	for _, q := range c.Quotas {
		checkReserved(&q, reserved[q.Name], f)
	}
}

func checkReservations(t *Tenant, where string, quotas map[string]*Quota, reserved map[string]Reservation, f *faults) {
	seen := map[string]bool{}
	for _, r := range t.Reservations {
		at := fmt.Sprintf("%s.reservations[%q]", where, r.Quota)
		if quotas[r.Quota] == nil || seen[r.Quota] {
			f.add("%s.quota: not there, or reserved twice", at)
		}
		seen[r.Quota] = true
		f.limits(at, number{"requests", r.Requests}, number{"tokens", r.Tokens})
		sum := reserved[r.Quota]
		sum.Requests += min(max(r.Requests, 0), mostCount)
		sum.Tokens += min(max(r.Tokens, 0), mostCount)
		reserved[r.Quota] = sum
	}
}

// checkReserved holds what all tenants reserve against the quota.
func checkReserved(q *Quota, sum Reservation, f *faults) {
	if q.Requests != Absent && sum.Requests > q.Requests {
		f.add("quotas[%q].requests: %d, but tenants reserve %d", q.Name, q.Requests, sum.Requests)
	}
	if q.Tokens != Absent && sum.Tokens > q.Tokens {
		f.add("quotas[%q].tokens: %d, but tenants reserve %d", q.Name, q.Tokens, sum.Tokens)
	}
}

// checkOverrides lets ends be past: they are, on the clock of a process that started later.
func checkOverrides(c *Catalog, f *faults) {
	for _, o := range c.Overrides {
		where := fmt.Sprintf("overrides[%q]", o.Endpoint)
		f.between(Absent, mostWeight, where, number{"weight", o.Weight})
		if o.Forced > ForcedClosed {
			f.add("%s.forced: %d is not known", where, o.Forced)
		}
	}
}

func checkEndpoint(e *Endpoint, f *faults) {
	where := fmt.Sprintf("endpoints[%q]", e.Name)
	f.counts(where, number{"context_window", e.ContextWindow}, number{"max_output_tokens", e.MaxOutputTokens})
	f.between(Absent, mostWeight, where, number{"weight", e.Weight})
	f.between(Absent, mostCount, where, number{"concurrency", e.Concurrency})
	if len(e.Quotas) > mostQuotas {
		f.add("%s.quotas: %d, want at most %d", where, len(e.Quotas), mostQuotas)
	}
	f.between(0, math.MaxInt64, where, number{"retires", e.Retires})
	f.counts(where+".capacity", number{"slots", e.Capacity.Slots}, number{"prefill_tps", e.Capacity.PrefillTPS})
	f.times(where+".capacity", number{"tpot", e.Capacity.TPOT})
	checkPrice(&e.Price, where+".price", f)
	checkBreaker(&e.Breaker, where+".breaker", f)
}

func checkPrice(p *money.Price, where string, f *faults) {
	rates := func(where string, input, cached, write, output money.Pico) {
		f.between(0, mostPrice, where, number{"input", int64(input)}, number{"cached_input", int64(cached)},
			number{"cache_write", int64(write)}, number{"output", int64(output)})
	}
	rates(where, p.Input, p.CachedInput, p.CacheWrite, p.Output)
	last := int64(0)
	for _, a := range p.Above {
		at := fmt.Sprintf("%s.above[%d]", where, a.Tokens)
		f.between(last+1, mostCount, at, number{"tokens", a.Tokens}) // ascending
		rates(at, a.Input, a.CachedInput, a.CacheWrite, a.Output)
		last = min(max(last, a.Tokens), mostCount)
	}
}

func checkBreaker(p *breaker.Policy, where string, f *faults) {
	f.times(where,
		number{"window", p.Window}, number{"slow_window", p.SlowWindow}, number{"ttft_limit", p.TTFTLimit},
		number{"cooldown", p.Cooldown}, number{"cooldown_max", p.CooldownMax}, number{"ramp", p.Ramp})
	f.counts(where, number{"min_samples", p.MinSamples}, number{"consecutive", p.Consecutive}, number{"probes", p.Probes})
	f.within(0, 1, where+".failure_ratio", p.FailureRatio)
	f.within(0, 1, where+".max_ejected", p.MaxEjected)
}

// checkWorkload leaves it to places whether its endpoints are there.
func checkWorkload(w *Workload, f *faults) {
	where := fmt.Sprintf("workloads[%q]", w.Name)
	if w.Strategy == NoStrategy || w.Strategy >= strategies {
		f.add("%s.strategy: %d is not known", where, w.Strategy)
	}
	if w.Affinity.On >= affinities {
		f.add("%s.affinity.on: %d is not known", where, w.Affinity.On)
	}
	checkAffinity(w, where+".affinity", f)
	checkBands(w, where, f)
	checkAttempts(&w.Attempts, where+".attempts", f)
	c := &w.Contract
	f.counts(where+".contract", number{"needs_context", c.NeedsContext}, number{"needs_output_tokens", c.NeedsOutputTokens})
	f.times(where+".contract", number{"max_ttft", c.MaxTTFT})
	f.between(0, mostMoney, where, number{"money_per_ms", int64(w.MoneyPerMS)})
}

func checkAffinity(w *Workload, where string, f *faults) {
	a := &w.Affinity
	if a.On == AffinityNone {
		return
	}
	if a.Rule >= affinityRules {
		f.add("%s.rule: %d is not known", where, a.Rule)
	}
	if !a.Rule.With(w.Strategy) {
		f.add("%s.rule: score, but strategy %v has none", where, w.Strategy)
	}
	f.within(1, mostFactor, where+".slack", a.Slack)
}

// checkBands lets bands reach equally far, and never less far than the one before.
func checkBands(w *Workload, where string, f *faults) {
	if w.Strategy != CostTiered {
		return
	}
	if len(w.Bands) == 0 {
		f.add("%s.bands: none, and the strategy is cost_tiered", where)
	}
	last := int64(1)
	for _, b := range w.Bands {
		if b.UptoTokens != Absent {
			f.between(last, mostCount, fmt.Sprintf("%s.bands[%q]", where, b.Name), number{"upto_tokens", b.UptoTokens})
		}
		last = max(last, b.reach())
	}
}

func checkAttempts(a *Attempts, where string, f *faults) {
	f.between(1, mostCount, where, number{"max", a.Max})
	f.between(1, mostTime, where, number{"total", a.Total})
	f.counts(where, number{"retry_reserve", a.RetryReserve}, number{"same_endpoint", a.SameEndpoint})
	f.times(where, number{"connect", a.Connect}, number{"first_token", a.FirstToken}, number{"answer", a.Answer}, number{"stall", a.Stall})
	f.within(0, mostFactor, where+".retry_ratio", a.RetryRatio)
}
