package metrics

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pointsman/pointsman/agent/metrics"
)

const maxBreakers = 100 // that have a series of their own; the rest are counted

// States of breakers that are not closed: all have a series, also when there are none.
var States = []string{"open", "half_open", "ramp"}

func fleets() []metrics.Family[Fleet] {
	count := func(name, help string, of func(Fleet) int) metrics.Family[Fleet] {
		return metrics.Gauge(name, help, func(f Fleet, say metrics.Say) { say(float64(of(f))) })
	}
	return []metrics.Family[Fleet]{
		count("endpoints", "Endpoints of the catalog that is served.", func(f Fleet) int { return f.Endpoints }),
		count("workloads", "Workloads of the catalog that is served.", func(f Fleet) int { return f.Workloads }),
		count("instances", "Addresses of endpoints that have many.", func(f Fleet) int { return f.Instances }),
		count("overrides", "Drains, forced breakers and weights that stand.", func(f Fleet) int { return f.Overrides }),
		count("leaves", "Running libraries that are known.", func(f Fleet) int { return f.Leaves }),
		count("leaves_behind", "Of those, the ones that do not run head.", func(f Fleet) int { return f.Behind }),
		count("leaves_nacked", "Of those, the ones that refused a version.", func(f Fleet) int { return f.Nacked }),
		count("nodes", "Nodes that they run on.", func(f Fleet) int { return f.Nodes }),
		count("quotas_spent", "Quotas that pause after their provider's 429s.", func(f Fleet) int { return f.Spent }),
		count("workloads_shedding", "Workloads that refuse calls.", func(f Fleet) int { return f.Shedding }),
		count("alarms", "What somebody must look at: pointsman status names it.", func(f Fleet) int { return f.Alarms }),
		metrics.Gauge("fleet_breakers", "Breakers of the fleet that are not closed, by state.", byState, "state"),
		metrics.Gauge("fleet_breaker", "How many of an endpoint's fleet breakers are in a state; none when all are closed.", byEndpoint, "endpoint", "state"),
	}
}

func byState(f Fleet, say metrics.Say) {
	counts := map[string]int{}
	for b, n := range f.Breakers {
		counts[b.State] += n
	}
	for _, s := range States {
		say(float64(counts[s]), s)
	}
}

// byEndpoint names the first so many, by name.
func byEndpoint(f Fleet, say metrics.Say) {
	all := slices.SortedFunc(maps.Keys(f.Breakers), func(a, b Breaker) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.State, b.State))
	})
	for _, b := range all[:min(len(all), maxBreakers)] {
		say(float64(f.Breakers[b]), b.Endpoint, b.State)
	}
}
