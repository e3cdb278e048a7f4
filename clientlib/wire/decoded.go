package wire

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
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
	judged  map[Key]string // what wrong said
}

func decode(s *State) *decoded {
	d := &decoded{
		state: s, overrides: map[string][]route.Override{}, words: map[string][]Key{},
		faults: map[Key]string{}, unknown: map[Key]string{}, judged: map[Key]string{},
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
	endpoint := route.Declared(overridden(k.Name)) // of an instance, too
	d.words[endpoint] = append(d.words[endpoint], k)
	o, known, fault := override(k, e)
	switch {
	case fault != "":
		d.fault(k, fault)
	case known:
		d.overrides[endpoint] = append(d.overrides[endpoint], o)
	}
}

// refer finds references to nothing, dates that are none, and parts that have to be there.
func (d *decoded) refer() {
	for name, m := range d.models {
		if m.Retires != "" && retires(m.Retires) == 0 {
			d.fault(Key{pb.Kind_KIND_MODEL, name}, fmt.Sprintf("retires is %q, want YYYY-MM-DD", m.Retires))
		}
	}
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

func (d *decoded) exist(from Key, refs iter.Seq[Key]) {
	for ref := range refs {
		if ref.Kind == pb.Kind_KIND_ENDPOINT && d.endpoints[ref.Name] != nil {
			continue // most are
		}
		if _, ok := d.state.Lookup(ref); !ok {
			d.fault(from, fmt.Sprintf("%v is not there", ref))
		}
	}
}

// parts are what an endpoint refers to.
func parts(e *pb.Endpoint) iter.Seq[Key] {
	return func(yield func(Key) bool) {
		ok := yield(Key{pb.Kind_KIND_PROVIDER, e.GetProvider()})
		if e.GetModel() != "" { // a tool's has none
			ok = ok && yield(Key{pb.Kind_KIND_MODEL, e.GetModel()})
		}
		for _, q := range e.GetQuotas() {
			ok = ok && yield(Key{pb.Kind_KIND_QUOTA, q})
		}
	}
}

// pools are the endpoints of a workload.
func pools(w *pb.Workload) iter.Seq[Key] {
	return func(yield func(Key) bool) {
		for _, t := range w.GetTiers() {
			for _, e := range t.GetEndpoints() {
				if !yield(Key{pb.Kind_KIND_ENDPOINT, e}) {
					return
				}
			}
		}
	}
}

// wrong is what keeps k from being used: a fault or something unknown, of itself or of
// what it reaches; empty: nothing.
func (d *decoded) wrong(k Key) string {
	if len(d.faults)+len(d.unknown) == 0 {
		return ""
	}
	why, known := d.judged[k]
	if !known {
		why = d.judge(k)
		d.judged[k] = why
	}
	return why
}

func (d *decoded) judge(k Key) string {
	if fault := cmp.Or(d.faults[k], d.unknown[k]); fault != "" {
		return fmt.Sprintf("%v: %s", k, fault)
	}
	switch k.Kind {
	case pb.Kind_KIND_WORKLOAD:
		return d.first(pools(d.workloads[k.Name]))
	case pb.Kind_KIND_ENDPOINT:
		return cmp.Or(d.first(parts(d.endpoints[k.Name])), d.first(slices.Values(d.words[k.Name])))
	}
	return ""
}

// first is the first fault of any of them.
func (d *decoded) first(refs iter.Seq[Key]) string {
	for ref := range refs {
		if why := d.wrong(ref); why != "" {
			return why
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
