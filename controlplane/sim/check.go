package sim

import (
	"errors"
	"fmt"

	"github.com/pointsman/pointsman/controlplane/sim/server"
)

// check names all that keeps a scenario from being played.
func (w *world) check() error {
	var all []error
	add := func(format string, a ...any) { all = append(all, fmt.Errorf(format, a...)) }
	if w.Fleet.Clients <= 0 {
		add("fleet.clients: %d, want 1 or more", w.Fleet.Clients)
	}
	if f := &w.Fleet; min(f.Report, f.Push, f.Delay, f.Jitter) < 0 || !(f.Lost >= 0 && f.Lost <= 1) {
		add("fleet: report, push, delay and jitter want 0 µs or more, lost 0 to 1")
	}
	if c := &w.Callers; c.SDKRetries < 0 || c.SDKPause < 0 || !(c.Estimate >= 0) {
		add("callers: sdk_retries, their pause and estimate want 0 or more")
	}
	if w.Duration <= 0 || w.Warmup < 0 || w.Warmup >= w.Duration {
		add("duration: %d µs after a warm-up of %d, want more than that", w.Duration, w.Warmup)
	}
	if w.Traffic == nil {
		add("traffic: there is none")
	}
	known := map[string]bool{}
	for i := range w.catalog.Endpoints {
		e := &w.catalog.Endpoints[i]
		known[e.Name] = true
		if m, ok := w.Servers[e.Name]; !ok {
			add("server %q: there is none: each endpoint of the catalog wants one", e.Name)
		} else if err := m.Check(); err != nil {
			add("server %q: %w", e.Name, err)
		}
		if e.Awaits() || len(e.Instances.Addresses) > 0 {
			add("endpoint %q: has instances, which are not simulated: declare an endpoint for each", e.Name)
		}
	}
	for i := range w.Faults {
		checkFault(&w.Faults[i], known, add)
	}
	return errors.Join(all...)
}

func checkFault(f *Fault, known map[string]bool, add func(string, ...any)) {
	above := f.Kind == server.Stale || f.Kind == server.Away
	switch {
	case above && len(f.Endpoints) > 0:
		add("fault %q: is the control plane's, and has endpoints: leave them out", f.Name)
	case !above && len(f.Endpoints) == 0:
		add("fault %q: has no endpoints: name one", f.Name)
	}
	if err := f.Check(); err != nil {
		add("fault %q: %w", f.Name, err)
	}
	for _, name := range f.Endpoints {
		if !known[name] {
			add("fault %q: endpoint %q is not in the catalog", f.Name, name)
		}
	}
}
