package route

import (
	"math"
	"reflect"
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

// compileFacts returns facts by name, in order of names. Those of prev stay where nothing changed.
func compileFacts(prev *static, c *Catalog, v *vocabulary, usable func(*Endpoint) Reason) []*facts {
	old := map[string]*facts{}
	if prev != nil && prev.vocabulary.equal(v) {
		old = prev.byName
	}
	overrides := map[string]orders{}
	for i := range c.Overrides {
		o := overrides[c.Overrides[i].Endpoint]
		o.take(&c.Overrides[i])
		overrides[c.Overrides[i].Endpoint] = o
	}
	all := make([]*facts, 0, len(c.Endpoints))
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		f := &facts{endpoint: e, usable: answer(usable, e), orders: overrides[e.Name]}
		if was := old[e.Name]; was != nil && was.same(f) {
			all = append(all, was)
			continue
		}
		f.capabilities, f.apis, f.compliance = v.capabilities.set(e.Capabilities), v.apis.set(e.APIs), v.compliance.set(e.Compliance)
		if e.Model == "" {
			f.capabilities.add(v.capabilities.bit(capStream)) // a tool answers as it likes
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *facts) int { return strings.Compare(a.endpoint.Name, b.endpoint.Name) })
	return all
}

func answer(usable func(*Endpoint) Reason, e *Endpoint) Reason {
	if usable == nil {
		return Pass
	}
	return usable(e)
}

func (f *facts) same(o *facts) bool {
	return f.usable == o.usable && f.orders == o.orders &&
		(f.endpoint == o.endpoint || reflect.DeepEqual(f.endpoint, o.endpoint))
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
