package route

import (
	"math"
	"slices"
	"strings"
)

const forever = math.MaxInt64

// facts is one endpoint as compiled. It never changes.
type facts struct {
	endpoint     *Endpoint
	usable       Reason
	capabilities set
	apis         set
	compliance   set
	orders       orders
	retiresAt    int64 // on the core's clock
}

// orders are the operators' overrides of one endpoint. Times are their ends.
type orders struct {
	drained  int64
	forced   Forced
	forcedTo int64
	weight   int64
	weightTo int64
}

func (o *orders) take(v *Override) {
	until := v.Until
	if until == 0 {
		until = forever
	}
	if v.Drain {
		o.drained = max(o.drained, until)
	}
	if v.Forced != NotForced {
		o.forced, o.forcedTo = v.Forced, until
	}
	if v.Weight != Absent {
		o.weight, o.weightTo = v.Weight, until
	}
}

func (o *orders) force(now int64) Forced {
	if now < o.forcedTo {
		return o.forced
	}
	return NotForced
}

// drainedTo is when the last order ends that keeps an endpoint drained; 0: none does.
func (o *orders) drainedTo(now int64) (to int64) {
	if now < o.drained {
		to = o.drained
	}
	if now < o.weightTo && o.weight == 0 {
		to = max(to, o.weightTo)
	}
	return to
}

// compileFacts returns facts in order of names. Those of prev stay where nothing changed.
func compileFacts(prev, s *static, l *Local, f *faults) []*facts {
	c, seen := s.catalog, make(map[string]bool, len(s.catalog.Endpoints))
	overrides := map[string]orders{}
	for i := range c.Overrides {
		o := overrides[c.Overrides[i].Endpoint]
		o.take(&c.Overrides[i])
		overrides[c.Overrides[i].Endpoint] = o
	}
	all := make([]*facts, 0, len(c.Endpoints))
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		f.unique("endpoints", seen, e.Name)
		o, u, at := overrides[e.Name], answer(l.Usable, e), e.retiresAt(l.Wall)
		if was := prev.of(e.Name); was != nil && was.usable == u && was.orders == o && was.retiresAt == at && e.same(was.endpoint) {
			all = append(all, was)
		} else {
			checkEndpoint(e, f)
			all = append(all, compileEndpoint(*e, s.vocabulary, u, o))
			all[i].retiresAt = at
		}
	}
	slices.SortFunc(all, func(a, b *facts) int { return strings.Compare(a.endpoint.Name, b.endpoint.Name) })
	return all
}

// compileEndpoint keeps a copy: facts outlive the catalog that they came with.
func compileEndpoint(e Endpoint, v *vocabulary, usable Reason, o orders) *facts {
	f := &facts{endpoint: &e, usable: usable, orders: o}
	f.capabilities, f.apis, f.compliance = v.capabilities.set(e.Capabilities), v.apis.set(e.APIs), v.compliance.set(e.Compliance)
	if e.Model == "" {
		f.capabilities.add(streamBit) // a tool answers as it likes
	}
	return f
}

// retiresAt is when the endpoint retires on a clock whose 0 is at wall.
func (e *Endpoint) retiresAt(wall int64) int64 {
	if e.Retires == 0 {
		return forever
	}
	return e.Retires - wall
}

func answer(usable func(*Endpoint) Reason, e *Endpoint) Reason {
	switch {
	case e.Awaits():
		return ReasonUnsupported // nobody can send where no address is known
	case usable == nil:
		return Pass
	}
	return usable(e)
}

// covers tells whether a path lies in one of the regions; without any, all do.
func covers(regions []string, path string) bool {
	if len(regions) == 0 {
		return true
	}
	for _, region := range regions {
		if rest, ok := strings.CutPrefix(path, region); ok && region != "" && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
