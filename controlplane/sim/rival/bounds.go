package rival

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// Bounds are of the mean time to first token over a scenario's calls after the warm-up. Nothing
// that was played before stands in their way, all are served, no time is lost on networks and
// memory, and whatever part of a prompt came before, anywhere, is cached if any server caches:
// each makes a bound lower and keeps it one. Memory grows by one word for each block that
// differs, and by nothing else. The pooled bound is of engines of one's own; with any hosted
// endpoint it is not computed.
func Bounds(s *sim.Scenario, seed uint64) (measure.Limits, error) {
	source, err := s.Traffic(seed)
	if err != nil {
		return measure.Limits{}, fmt.Errorf("bounds of %s: %w", s.Name, err)
	}
	if c, opened := source.(io.Closer); opened {
		defer func() { _ = c.Close() }() // it was only read
	}
	b := newBounds(s)
	for a := (traffic.Arrival{}); ; {
		more, err := source.Next(&a)
		if err != nil {
			return measure.Limits{}, fmt.Errorf("bounds of %s: %w", s.Name, err)
		}
		if !more || a.At >= s.Duration {
			return b.limits(), nil
		}
		if tokens := b.uncached(&a); a.At >= s.Warmup {
			b.add(&a, tokens)
			b.input, b.missed = b.input+float64(a.Input), b.missed+tokens
		}
	}
}

// bounds gathers both.
type bounds struct {
	best   map[string]*alone // by workload
	all    *alone
	pool   pooled
	hosted bool
	seen   map[uint64]struct{} // blocks; nil: nobody caches
	input  float64             // tokens of the prompts
	missed float64             // of them: those that had not come before
	zero   float64             // sum, µs
	calls  int64
}

// alone is what endpoints do when nobody else asks.
type alone struct {
	rate   float64 // the fastest engine's, tokens a µs; 0: there is none
	hosted []*server.Server
}

func newBounds(s *sim.Scenario) *bounds {
	b := &bounds{best: map[string]*alone{}, all: &alone{}}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		m := s.Servers[name]
		b.all.add(&m)
		if m.Own == nil {
			b.hosted = true
			continue
		}
		b.pool.rate += m.Own.Rate()
		if m.Own.CacheTokens > 0 && b.seen == nil {
			b.seen = map[uint64]struct{}{}
		}
	}
	for i := range s.Catalog.Workloads {
		b.best[s.Catalog.Workloads[i].Name] = aloneOf(s, &s.Catalog.Workloads[i])
	}
	return b
}

// aloneOf is a workload's own endpoints; which of them its gates refuse is left out.
func aloneOf(s *sim.Scenario, w *route.Workload) *alone {
	o := &alone{}
	for _, t := range w.Tiers {
		for _, name := range t.Endpoints {
			if m, known := s.Servers[name]; known {
				o.add(&m)
			}
		}
	}
	return o
}

func (o *alone) add(m *server.Model) {
	if m.Own != nil {
		o.rate = max(o.rate, m.Own.Rate())
		return
	}
	o.hosted = append(o.hosted, server.New(m, 0, nil))
}

// first is the soonest of all, in µs.
func (o *alone) first(a *traffic.Arrival, tokens float64) float64 {
	least, found := 0.0, false
	if o.rate > 0 {
		least, found = tokens/o.rate, true
	}
	job := jobOf(a)
	for _, s := range o.hosted {
		if f := s.PredictFirst(0, &job); f != server.Never && (!found || float64(f) < least) {
			least, found = float64(f), true
		}
	}
	return least
}

// uncached is what of a prompt has not come before, in tokens.
func (b *bounds) uncached(a *traffic.Arrival) float64 {
	if b.seen == nil {
		return float64(a.Input)
	}
	hits := 0
	for i, id := range a.Blocks {
		if _, known := b.seen[id]; known && hits == i {
			hits++
		} else if !known {
			b.seen[id] = struct{}{}
		}
	}
	return float64(max(0, a.Input-int64(hits)*traffic.BlockTokens))
}

func (b *bounds) add(a *traffic.Arrival, tokens float64) {
	best, known := b.best[a.Workload]
	if !known {
		best = b.all
	}
	b.calls++
	b.zero += best.first(a, tokens)
	if !b.hosted && b.pool.rate > 0 {
		b.pool.arrive(a.At, tokens)
	}
}

func (b *bounds) limits() measure.Limits {
	if b.calls == 0 {
		return measure.Limits{}
	}
	limits := measure.Limits{ZeroTTFT: b.zero / float64(b.calls), PooledTTFT: b.pool.mean()}
	if b.input > 0 {
		limits.HitRate = 1 - b.missed/b.input
	}
	return limits
}
