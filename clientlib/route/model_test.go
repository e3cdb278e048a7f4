package route_test

import (
	"maps"
	"reflect"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

const sec = 1_000_000

// model says a second time, naively, who may serve a request: from the catalog, the
// fleet's words and what was told, when. It knows of no pool, table or word.
type model struct {
	catalog  *route.Catalog
	fleet    *route.Fleet
	local    route.Local
	fates    map[identity]*fate
	holds    map[string]*span // of credentials and quotas, by name
	edges    []int64          // times at which an answer may change by itself
	inFlight map[string]int64 // by tenant
	measured bool             // some attempt has ended, so that latencies may be known
}

type identity struct {
	name     string
	identity uint64
}

// fate is what was told of one endpoint.
type fate struct {
	spec     route.Endpoint
	leftAt   int64
	unsure   bool // it may have been forgotten, or news may have been of another one
	inFlight int64
	out      int64
	trips    map[trip]bool // soft
	own      span          // without a quota of its own
	ownKey   span
}

type trip struct {
	class breaker.Class
	phase breaker.Phase
}

// span is a time until which something certainly, and perhaps, stands.
type span struct{ sure, perhaps int64 }

func (s *span) extend(sure, perhaps int64) {
	s.sure, s.perhaps = max(s.sure, sure), max(s.perhaps, perhaps)
}

func newModel() *model {
	return &model{fates: map[identity]*fate{}, holds: map[string]*span{}, inFlight: map[string]int64{}}
}

func (m *model) find(name string) *route.Endpoint {
	for i := range m.catalog.Endpoints {
		if m.catalog.Endpoints[i].Name == name {
			return &m.catalog.Endpoints[i]
		}
	}
	return nil
}

func (m *model) fate(e *route.Endpoint) *fate { return m.fates[identity{e.Name, e.Identity}] }

func (m *model) workload(name string) *route.Workload {
	for i := range m.catalog.Workloads {
		if m.catalog.Workloads[i].Name == name {
			return &m.catalog.Workloads[i]
		}
	}
	return nil
}

// apply notes what a snapshot brings.
func (m *model) apply(now int64, c *route.Catalog, f *route.Fleet, l route.Local) {
	m.catalog, m.fleet, m.local = c, f, l
	there := map[identity]bool{}
	for _, e := range c.Endpoints {
		k := identity{e.Name, e.Identity}
		there[k] = true
		x := m.fates[k]
		if x == nil {
			x = &fate{spec: e, trips: map[trip]bool{}}
			m.fates[k] = x
		}
		if x.leftAt > 0 && now-x.leftAt >= 600*sec {
			x.unsure = true
		}
		if !reflect.DeepEqual(x.spec, e) {
			x.spec, x.out = e, 0 // what was missing may be there now
		}
		x.leftAt = 0
	}
	used := map[string]bool{}
	for k, x := range m.fates {
		if !there[k] {
			x.leftAt = max(x.leftAt, now)
			continue
		}
		used["credential "+x.spec.Credential] = true
		for _, q := range x.spec.Quotas {
			used["quota "+q] = true
		}
	}
	for name, h := range m.holds {
		if !used[name] {
			h.sure = 0
		}
	}
	for _, e := range c.Endpoints {
		m.edges = append(m.edges, e.Retires-l.Wall)
	}
	for _, o := range c.Overrides {
		m.edges = append(m.edges, o.Until)
	}
	for _, row := range f.Endpoints {
		m.edges = append(m.edges, row.At+30*sec)
		for _, b := range row.Breakers {
			m.edges = append(m.edges, b.OpenUntil)
		}
	}
}

// steady tells whether nothing has changed by itself for as long as a pool's standing is used.
func (m *model) steady(now int64) bool {
	return !slices.ContainsFunc(m.edges, func(at int64) bool { return at <= now && at > now-sec })
}

// hold is what an endpoint shares with others of its credential, or quota.
func (m *model) hold(kind, name string, own *span) *span {
	if name == "" {
		return own
	}
	h := m.holds[kind+" "+name]
	if h == nil {
		h = &span{}
		m.holds[kind+" "+name] = h
	}
	return h
}

func (m *model) credential(x *fate) *span { return m.hold("credential", x.spec.Credential, &x.ownKey) }

// quotas are those that a refusal may be for: its only one, or any of several, or none of them.
func (m *model) quotas(x *fate) (all []*span) {
	for _, name := range x.spec.Quotas {
		all = append(all, m.hold("quota", name, &x.own))
	}
	if len(all) != 1 {
		all = append(all, &x.own)
	}
	return all
}

// cooled notes a refusal for some time, after which requests come one by one for a while.
func (m *model) cooled(now int64, x *fate, least, most int64) {
	all := m.quotas(x)
	for _, q := range all {
		if len(all) > 1 {
			least = 0
		}
		q.extend(now+least, now+most+2*max(sec, most/10))
	}
}

func (m *model) limit(name string) (q route.Quota) {
	for _, q := range m.catalog.Quotas {
		if q.Name == name {
			return q
		}
	}
	return q
}

// told notes how an attempt at an endpoint ended.
func (m *model) told(now int64, k identity, o route.Outcome) {
	x := m.fates[k]
	m.measured = true
	switch o.Kind {
	case route.Limited:
		after, least := o.RetryAfter, o.RetryAfter
		if after == 0 {
			after, least = 60*sec, sec
		}
		m.cooled(now, x, least, after)
	case route.Unauthorized:
		m.credential(x).extend(now+60*sec, now+60*sec)
		m.edges = append(m.edges, now+60*sec)
	case route.Missing:
		x.out = max(x.out, now+300*sec)
		m.edges = append(m.edges, x.out)
	}
}

// heard notes what the router says of its own breaker of an endpoint.
func (x *fate) heard(e route.Event) {
	switch e.Kind {
	case route.EventOpened:
		x.trips[trip{e.Class, e.Phase}] = e.Soft
	case route.EventClosed: // none of the class's is left
		maps.DeleteFunc(x.trips, func(t trip, _ bool) bool { return t.class == e.Class })
	}
}

// meant are those of a name that a piece of news may be about.
func (m *model) meant(name string) (all []*fate) {
	for k, x := range m.fates {
		if k.name == name && (x.leftAt == 0 || x.inFlight > 0) {
			all = append(all, x)
		}
	}
	return all
}
