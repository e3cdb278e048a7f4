package route

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

// faults gathers everything that is wrong, each with the name of its field.
type faults struct{ all []error }

func (f *faults) add(format string, args ...any) {
	f.all = append(f.all, fmt.Errorf(format, args...))
}

func (f *faults) err() error { return errors.Join(f.all...) }

type number struct {
	name  string
	value int64
}

func (f *faults) atLeast(least int64, where string, numbers ...number) {
	for _, n := range numbers {
		if n.value < least {
			f.add("%s.%s: %d, want at least %d", where, n.name, n.value, least)
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

func checkTenants(c *Catalog, f *faults) {
	seen := map[string]bool{}
	for i := range c.Tenants {
		f.unique("tenants", seen, c.Tenants[i].Name)
	}
}

func checkOverrides(c *Catalog, f *faults) {
	for _, o := range c.Overrides {
		where := fmt.Sprintf("overrides[%q]", o.Endpoint)
		f.atLeast(Absent, where, number{"weight", o.Weight})
		f.atLeast(0, where, number{"until", o.Until})
		if o.Forced > ForcedClosed {
			f.add("%s.forced: %d is not known", where, o.Forced)
		}
	}
}

func checkEndpoint(e *Endpoint, f *faults) {
	where := fmt.Sprintf("endpoints[%q]", e.Name)
	f.atLeast(0, where, number{"context_window", e.ContextWindow}, number{"max_output_tokens", e.MaxOutputTokens})
	f.atLeast(Absent, where, number{"weight", e.Weight}, number{"concurrency", e.Concurrency})
	checkBreaker(&e.Breaker, where+".breaker", f)
}

func checkBreaker(p *breaker.Policy, where string, f *faults) {
	f.atLeast(0, where,
		number{"window", p.Window}, number{"slow_window", p.SlowWindow}, number{"min_samples", p.MinSamples},
		number{"consecutive", p.Consecutive}, number{"ttft_limit", p.TTFTLimit}, number{"cooldown", p.Cooldown},
		number{"cooldown_max", p.CooldownMax}, number{"probes", p.Probes}, number{"ramp", p.Ramp})
	f.within(0, 1, where+".failure_ratio", p.FailureRatio)
	f.within(0, 1, where+".max_ejected", p.MaxEjected)
}

// checkWorkload leaves it to places whether its endpoints are there.
func checkWorkload(w *Workload, f *faults) {
	where := fmt.Sprintf("workloads[%q]", w.Name)
	if w.Strategy == NoStrategy || w.Strategy >= strategies {
		f.add("%s.strategy: %d is not known", where, w.Strategy)
	}
	a, c := &w.Attempts, &w.Contract
	f.atLeast(1, where+".attempts", number{"max", a.Max}, number{"total", a.Total})
	f.atLeast(0, where+".attempts",
		number{"retry_reserve", a.RetryReserve}, number{"same_endpoint", a.SameEndpoint}, number{"connect", a.Connect},
		number{"first_token", a.FirstToken}, number{"answer", a.Answer}, number{"stall", a.Stall})
	f.within(0, math.MaxFloat64, where+".attempts.retry_ratio", a.RetryRatio)
	f.atLeast(0, where+".contract",
		number{"needs_context", c.NeedsContext}, number{"needs_output_tokens", c.NeedsOutputTokens}, number{"max_ttft", c.MaxTTFT})
	f.atLeast(0, where, number{"money_per_ms", int64(w.MoneyPerMS)})
}
