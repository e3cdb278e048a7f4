package wire

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Selector says which workloads of a catalog a view wants.
type Selector struct {
	All       bool
	Workloads []string // when not all; none is the empty view
}

// Key is equal for selectors that want the same, and for no others: names are anybody's.
func (s Selector) Key() string {
	if s.All {
		return "*"
	}
	names := slices.Clone(s.Workloads)
	slices.Sort(names)
	return fmt.Sprintf("%q", slices.Compact(names))
}

// Closure is what a selector sees of a catalog: the workloads and all they reach, the
// tenants entitled to them, the overrides of the endpoints among these. Bodies that do not
// decode are in it and reach nothing: who reads them says so.
//
// A workload that no declared tenant may use is left out. Without that a view would hold
// it and no tenant, and no tenant at all means that everybody may.
func Closure(s *State, sel Selector) map[Key]Entry {
	if sel.All {
		return maps.Collect(s.All())
	}
	c := closure{from: s, taken: map[Key]Entry{}}
	tenants := Tenants(s)
	for _, name := range sel.Workloads {
		if len(tenants) == 0 || slices.ContainsFunc(tenants, func(t *pb.Tenant) bool { return entitled(t, name) }) {
			c.workload(name)
		}
	}
	for _, t := range tenants {
		if slices.ContainsFunc(sel.Workloads, func(name string) bool { return c.has(pb.Kind_KIND_WORKLOAD, name) && entitled(t, name) }) {
			c.take(pb.Kind_KIND_TENANT, t.Name, nil)
		}
	}
	c.overrides()
	return c.taken
}

// FleetClosure is the part of a fleet track that concerns the endpoints and workloads of
// a catalog view.
func FleetClosure(fleet *State, catalogView *State) map[Key]Entry {
	taken := map[Key]Entry{}
	for k, e := range fleet.All() {
		about := Key{pb.Kind_KIND_ENDPOINT, route.Declared(k.Name)}
		if k.Kind == pb.Kind_KIND_FLEET_WORKLOAD {
			about = Key{pb.Kind_KIND_WORKLOAD, k.Name}
		}
		if _, ok := catalogView.Lookup(about); ok {
			taken[k] = e
		}
	}
	return taken
}

func entitled(t *pb.Tenant, workload string) bool {
	return slices.Contains(t.Workloads, workload) || slices.Contains(t.Workloads, "*")
}

type closure struct {
	from  *State
	taken map[Key]Entry
}

func (c *closure) has(kind pb.Kind, name string) bool {
	_, ok := c.taken[Key{kind, name}]
	return ok
}

// take takes one resource and decodes it into m; false: not there, taken before, or not decodable.
func (c *closure) take(kind pb.Kind, name string, m proto.Message) bool {
	k := Key{kind, name}
	e, ok := c.from.Lookup(k)
	if _, before := c.taken[k]; before || !ok {
		return false
	}
	c.taken[k] = e
	return m != nil && proto.Unmarshal(e.Body, m) == nil
}

func (c *closure) workload(name string) {
	var w pb.Workload
	if !c.take(pb.Kind_KIND_WORKLOAD, name, &w) {
		return
	}
	for _, t := range w.Tiers {
		for _, e := range t.Endpoints {
			c.endpoint(e)
		}
	}
}

func (c *closure) endpoint(name string) {
	var e pb.Endpoint
	if !c.take(pb.Kind_KIND_ENDPOINT, name, &e) {
		return
	}
	c.take(pb.Kind_KIND_PROVIDER, e.Provider, nil)
	c.take(pb.Kind_KIND_MODEL, e.Model, nil)
	for _, q := range e.Quotas {
		c.take(pb.Kind_KIND_QUOTA, q, nil)
	}
}

func (c *closure) overrides() {
	for k := range c.from.All() {
		if k.Kind == pb.Kind_KIND_OVERRIDE && c.has(pb.Kind_KIND_ENDPOINT, route.Declared(overridden(k.Name))) {
			c.take(k.Kind, k.Name, nil)
		}
	}
}
