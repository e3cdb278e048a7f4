package route

import "fmt"

// check refuses what no leader can have learned. Classes and states that are not known here
// are a newer leader's, and passed over.
func (f *Fleet) check() error {
	var all faults
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		e.within(&all, mostFactor, "speed", e.Speed)
		for k := range e.Breakers {
			b := &e.Breakers[k]
			e.within(&all, mostTime, "breakers.ramp_for", float64(b.RampFor))
			e.within(&all, mostCount, "breakers.ramp_successes", float64(b.RampSuccesses))
		}
		for k := range e.Loads {
			l := &e.Loads[k]
			e.within(&all, mostCount, "loads.in_flight", float64(l.InFlight))
			e.within(&all, mostCount, "loads.pending_prompt_tokens", float64(l.PendingPromptTokens))
			e.within(&all, mostCount, "loads.outstanding_tokens", float64(l.OutstandingTokens))
			e.within(&all, mostCount, "loads.successes", l.Successes)
			e.within(&all, mostCount, "loads.samples", l.Samples)
			e.within(&all, mostSlowdown, "loads.slowdown", l.Slowdown)
			e.within(&all, mostCount, "loads.slowdown_samples", l.SlowdownSamples)
		}
	}
	for i := range f.Instances {
		in := &f.Instances[i]
		checkAddresses(in.Addresses(), fmt.Sprintf("fleet.instances[%q]", in.Endpoint), &all)
	}
	for i := range f.Workloads {
		if w := &f.Workloads[i]; !(w.RetryFactor >= 0 && w.RetryFactor <= 1) {
			all.add("fleet.workloads[%q].retry_factor: %g, want 0 to 1", w.Name, w.RetryFactor)
		}
	}
	return all.err()
}

// within names a field only when it must: rows are many, and come often.
func (e *FleetEndpoint) within(f *faults, most float64, field string, v float64) {
	if !(v >= 0 && v <= most) { // what is no number is not within
		f.add("fleet.endpoints[%q].%s: %g, want 0 to %g", e.Name, field, v, most)
	}
}

// checkInstances is of what was declared: the endpoints that come of it have none.
func checkInstances(c *Catalog, f *faults) {
	for i := range c.Endpoints {
		in := &c.Endpoints[i].Instances
		if !in.some() {
			continue
		}
		where := fmt.Sprintf("endpoints[%q].instances", c.Endpoints[i].Name)
		if in.DNS != "" && (len(in.Addresses) > 0 || !Address(in.DNS)) {
			f.add("%s.dns: %q, want host:port, and no list beside it", where, in.DNS)
		}
		checkAddresses(in.Addresses, where, f)
	}
}

func checkAddresses(all []string, where string, f *faults) {
	if len(all) > MostInstances {
		f.add("%s: %d addresses, want at most %d", where, len(all), MostInstances)
	}
	for _, address := range all {
		if !Address(address) {
			f.add("%s: %q, want host:port", where, address)
		}
	}
}
