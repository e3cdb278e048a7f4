package scenario

import (
	"maps"
	"slices"

	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/server"
)

var kinds = map[string]server.FaultKind{
	"slow": server.Slow, "fail": server.FailFast, "hang": server.Hang, "cut": server.Cut, "throttle": server.Throttle,
	"exhausted": server.Exhausted, "blackout": server.Black, "cold": server.Cold, "wrong": server.Wrong,
	"stale": server.Stale, "away": server.Away,
}

// undivided are the kinds that befall no single request or push.
var undivided = []server.FaultKind{server.Slow, server.Black, server.Cold, server.Away}

// faults are a timeline: what goes wrong at some endpoints together, or at the control plane.
func (r *reader) faults() {
	list := r.root.All("fault", 1)
	if len(list) > maxFaults {
		r.root.Fail("", "%d faults; %d at most", len(list), maxFaults)
		return
	}
	for _, b := range list {
		f := sim.Fault{Name: b.Name()}
		r.fault(b, &f)
		b.Close()
		r.set.Scenario.Faults = append(r.set.Scenario.Faults, f)
	}
}

func (r *reader) fault(b *catalog.Block, f *sim.Fault) {
	var kind string
	b.Need("kind")
	known := b.Choice("kind", slices.Sorted(maps.Keys(kinds)), &kind)
	f.Kind = kinds[kind]
	endpoints, said := r.chosen(b)
	switch plane := f.Kind == server.Stale || f.Kind == server.Away; {
	case !known:
	case plane && said:
		b.Fail("leave out endpoints, region, provider and quota", "%s befalls the control plane, not endpoints", kind)
	case !plane && !said:
		b.Fail(`add endpoints = ["…"], region, provider or quota`, "a fault without endpoints")
	case !plane && len(endpoints) == 0:
		b.Fail("what is given must fit one and the same endpoint", "the fault befalls no endpoint")
	case !plane:
		f.Endpoints = endpoints
	}
	r.span(b, f)
	if b.Has("part") && slices.Contains(undivided, f.Kind) {
		b.Wrong("part", "it befalls all there is", "has no effect on %s", kind)
	}
	b.Number("part", 1e-6, 1, &f.Part) // of a fault, 0 is all
	if b.Has("factor") && known && f.Kind != server.Slow {
		b.Wrong("factor", "it is of the speed, for slow", "has no effect on %s", kind)
	}
	f.Factor = 1
	if f.Kind == server.Slow {
		b.Need("factor")
	}
	b.Number("factor", 0.001, 100, &f.Factor)
}

// span reads when it is: at, and for so long or until the traffic ends. An endpoint that joins
// cold is not there before.
func (r *reader) span(b *catalog.Block, f *sim.Fault) {
	s := r.set.Scenario
	var long int64
	b.Need("at")
	b.Duration("at", 0, maxDuration, &f.From)
	f.To = s.Duration
	switch has := b.Duration("for", 0, maxDuration, &long); {
	case has && f.Kind == server.Cold:
		b.Wrong("for", "at is when the endpoint joins", "has no effect on cold")
	case f.Kind == server.Cold:
		f.From, f.To = 0, f.From
	case has:
		f.To = f.From + long
	}
	if s.Duration > 0 && f.From >= s.Duration {
		b.Wrong("at", "", "is not before the end of the traffic")
		return
	}
	if f.To <= f.From && s.Duration > 0 && b.Has("at") {
		b.Fail("", "the fault takes no time")
	}
}
