package fleet

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

// Changed drains the names of endpoints whose row says something new, or none any more,
// sorted; urgent: one of them opened, which is to be sent at once.
func (f *Fleet) Changed() (names []string, urgent bool) {
	names = make([]string, 0, len(f.dirty))
	for _, e := range f.dirty {
		e.changed = false
		names = append(names, e.spec.Name)
	}
	slices.Sort(names)
	clear(f.dirty)
	urgent, f.urgent, f.dirty = f.urgent, false, f.dirty[:0]
	return slices.Compact(names), urgent
}

// Rows is the overlay, sorted by name: endpoints of which something is known.
func (f *Fleet) Rows(now int64) (out []route.FleetEndpoint) {
	for _, e := range f.order {
		if row, ok := f.Row(now, e.spec.Name); ok {
			out = append(out, row)
		}
	}
	return out
}

// Row is the overlay of one endpoint; false: nothing is known of it.
func (f *Fleet) Row(now int64, name string) (row route.FleetEndpoint, ok bool) {
	e := f.endpoints[name]
	if e == nil || len(e.words) == 0 && len(e.sites) == 0 && e.speed.said == 0 {
		return row, false
	}
	row = route.FleetEndpoint{Name: name, Identity: e.spec.Identity, At: e.at, Speed: e.speed.said}
	for _, w := range e.words {
		if w.round == 0 {
			continue
		}
		row.Breakers = append(row.Breakers, e.breaker(w))
	}
	for _, s := range e.sites {
		d := window.Decay(now-s.okAt, okHalf)
		slowdown, n := s.slow.tell(now)
		row.Loads = append(row.Loads, route.FleetLoad{
			Locality: s.locality, InFlight: s.load.inFlight, PendingPromptTokens: s.load.pending,
			OutstandingTokens: s.load.outstanding, Successes: s.success * d, Samples: s.samples * d,
			Slowdown: slowdown, SlowdownSamples: n, Witnesses: s.witnessed(now),
		})
	}
	return row, true
}

func (e *endpoint) breaker(w *word) route.FleetBreaker {
	b := route.FleetBreaker{Class: w.class, Locality: w.locality, State: w.state, Round: w.round}
	switch w.state {
	case route.FleetOpen, route.FleetHalfOpen:
		b.Soft, b.Reason, b.OpenUntil = w.soft, w.evidence, w.openUntil
	case route.FleetRamp:
		b.Reason = w.evidence // the next leader tells people by it; nobody decides by it
		b.RampFrom, b.RampFor, b.RampSuccesses = w.rampFrom, e.spec.Breaker.Ramp, w.rampGood
	}
	return b
}
