package wire

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// decoded is a catalog state by kind and name, with what is wrong with its resources.
type decoded struct {
	state     *State
	models    map[string]*pb.Model
	providers map[string]*pb.Provider
	quotas    map[string]*pb.Quota
	endpoints map[string]*pb.Endpoint
	workloads map[string]*pb.Workload
	tenants   map[string]*pb.Tenant
	overrides map[string][]route.Override // by endpoint
	words     map[string][]Key            // the resources of the overrides of an endpoint

	faults  map[Key]string // what cannot be right: not in the maps above, or refers to nothing
	unknown map[Key]string // what is not known here
}

func decode(s *State) *decoded {
	d := &decoded{
		state: s, overrides: map[string][]route.Override{}, words: map[string][]Key{},
		faults: map[Key]string{}, unknown: map[Key]string{},
	}
	d.models = table[pb.Model](d, pb.Kind_KIND_MODEL)
	d.providers = table[pb.Provider](d, pb.Kind_KIND_PROVIDER)
	d.quotas = table[pb.Quota](d, pb.Kind_KIND_QUOTA)
	d.endpoints = table[pb.Endpoint](d, pb.Kind_KIND_ENDPOINT)
	d.workloads = table[pb.Workload](d, pb.Kind_KIND_WORKLOAD)
	d.tenants = table[pb.Tenant](d, pb.Kind_KIND_TENANT)
	for _, r := range s.kind(pb.Kind_KIND_OVERRIDE) {
		d.override(r.key, r.entry)
	}
	d.refer()
	return d
}

// named is a message of the catalog.
type named interface {
	proto.Message
	GetName() string
}

// table decodes all resources of a kind; those with a fault are not in it.
func table[M any, P interface {
	*M
	named
}](d *decoded, kind pb.Kind) map[string]P {
	t := map[string]P{}
	for _, r := range d.state.kind(kind) {
		if m := P(new(M)); d.check(r.key, r.entry, m) {
			t[r.key.Name] = m
		}
	}
	return t
}

func (d *decoded) check(k Key, e Entry, m named) bool {
	if proto.Unmarshal(e.Body, m) != nil {
		d.fault(k, undecodable)
		return false
	}
	if m.GetName() != k.Name {
		d.fault(k, otherName)
		return false
	}
	bad, unknown := inspect(m)
	if len(unknown) > 0 {
		d.unknown[k] = unknown
	}
	if len(bad) > 0 {
		d.fault(k, bad)
		return false
	}
	return true
}

func (d *decoded) fault(k Key, what string) {
	if before := d.faults[k]; before != "" {
		what = before + "; " + what
	}
	d.faults[k] = what
}

func (d *decoded) override(k Key, e Entry) {
	endpoint := overridden(k.Name)
	d.words[endpoint] = append(d.words[endpoint], k)
	o, known, fault := override(k, e)
	switch {
	case fault != "":
		d.fault(k, fault)
	case known:
		d.overrides[endpoint] = append(d.overrides[endpoint], o)
	}
}

// refer finds references to nothing, and parts that have to be there.
func (d *decoded) refer() {
	for name, e := range d.endpoints {
		k := Key{pb.Kind_KIND_ENDPOINT, name}
		if e.Breaker == nil {
			d.fault(k, "no breaker policy")
		}
		d.exist(k, parts(e))
	}
	for name, w := range d.workloads {
		k := Key{pb.Kind_KIND_WORKLOAD, name}
		if w.Attempts == nil {
			d.fault(k, "no attempts policy")
		}
		d.exist(k, pools(w))
	}
}

func (d *decoded) exist(from Key, refs []Key) {
	for _, ref := range refs {
		if _, ok := d.state.Lookup(ref); !ok {
			d.fault(from, fmt.Sprintf("%v is not there", ref))
		}
	}
}

// parts are what an endpoint refers to.
func parts(e *pb.Endpoint) []Key {
	keys := []Key{{pb.Kind_KIND_PROVIDER, e.Provider}}
	if e.Model != "" { // a tool's has none
		keys = append(keys, Key{pb.Kind_KIND_MODEL, e.Model})
	}
	for _, q := range e.Quotas {
		keys = append(keys, Key{pb.Kind_KIND_QUOTA, q})
	}
	return keys
}

// pools are the endpoints of a workload.
func pools(w *pb.Workload) []Key {
	var keys []Key
	for _, t := range w.Tiers {
		for _, e := range t.Endpoints {
			keys = append(keys, Key{pb.Kind_KIND_ENDPOINT, e})
		}
	}
	return keys
}

// wrong is what keeps k from being used: a fault or something unknown, of itself or of
// what it reaches; empty: nothing.
func (d *decoded) wrong(k Key) string {
	if fault := cmp.Or(d.faults[k], d.unknown[k]); fault != "" {
		return fmt.Sprintf("%v: %s", k, fault)
	}
	var refs []Key
	switch k.Kind {
	case pb.Kind_KIND_WORKLOAD:
		refs = pools(d.workloads[k.Name])
	case pb.Kind_KIND_ENDPOINT:
		refs = append(parts(d.endpoints[k.Name]), d.words[k.Name]...)
	}
	for _, ref := range refs {
		if fault := d.wrong(ref); fault != "" {
			return fault
		}
	}
	return ""
}

// err names every fault, by kind and name.
func (d *decoded) err() error {
	errs := make([]error, 0, len(d.faults))
	for _, k := range slices.SortedFunc(maps.Keys(d.faults), Key.compare) {
		errs = append(errs, fmt.Errorf("%v: %s", k, d.faults[k]))
	}
	return errors.Join(errs...)
}
