package route

import (
	"slices"
	"strings"
)

// Local is what this process is and can use.
type Local struct {
	Locality string
	Usable   func(*Endpoint) Reason // nil: all are
}

// Snapshot is a catalog and a fleet overlay compiled together. It never changes.
type Snapshot struct {
	static *static
	fleet  *Fleet
	words  []*word // as static.facts; nil: the fleet knows nothing of it
	retry  map[string]FleetWorkload
}

// static is what only a new catalog changes.
type static struct {
	catalog    *Catalog
	vocabulary *vocabulary
	facts      []*facts // by name
	byName     map[string]*facts
	workloads  map[string]*workload
	tenants    map[string]*tenant // none: all are the default one
	policies   map[string]*tenant // by policy
}

// tenant is what narrows every contract for one tenant.
type tenant struct {
	spec       *Tenant
	policy     string // the same for tenants that may use the same endpoints
	compliance set
}

// Compile checks and joins what it is given and shares with prev what did not change.
// The fleet and prev may be nil. Its error names every bad field.
func Compile(prev *Snapshot, c *Catalog, f *Fleet, l Local) (*Snapshot, error) {
	var old *static
	if prev != nil {
		old = prev.static
	}
	st, err := compileStatic(old, c, l)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{static: st, fleet: f, words: make([]*word, len(st.facts))}
	s.overlay(prev, l.Locality)
	return s, nil
}

func compileStatic(prev *static, c *Catalog, l Local) (*static, error) {
	if prev != nil && prev.catalog == c && prev.usable(l.Usable) {
		return prev, nil
	}
	var f faults
	check(c, &f)
	v := words(c, &f)
	if err := f.err(); err != nil {
		return nil, err
	}
	st := &static{catalog: c, vocabulary: v, byName: map[string]*facts{}, workloads: map[string]*workload{}}
	st.facts = compileFacts(prev, c, v, l.Usable)
	for _, f := range st.facts {
		st.byName[f.endpoint.Name] = f
	}
	st.compileTenants(c)
	for i := range c.Workloads {
		st.workloads[c.Workloads[i].Name] = compileWorkload(prev, st, &c.Workloads[i])
	}
	return st, nil
}

// usable tells whether this process can still use what it could.
func (s *static) usable(usable func(*Endpoint) Reason) bool {
	for _, f := range s.facts {
		if f.usable != answer(usable, f.endpoint) {
			return false
		}
	}
	return true
}

func (s *static) compileTenants(c *Catalog) {
	s.tenants, s.policies = map[string]*tenant{}, map[string]*tenant{}
	for i := range c.Tenants {
		t := &tenant{spec: &c.Tenants[i], compliance: s.vocabulary.compliance.set(c.Tenants[i].Compliance)}
		if len(t.spec.Regions) > 0 || len(t.spec.Compliance) > 0 {
			t.policy = strings.Join(t.spec.Regions, ",") + "|" + strings.Join(t.spec.Compliance, ",")
		}
		s.tenants[t.spec.Name], s.policies[t.policy] = t, t
	}
}

// overlay joins the fleet's rows by name and identity.
func (s *Snapshot) overlay(prev *Snapshot, locality string) {
	if s.fleet == nil {
		return
	}
	for i := range s.fleet.Endpoints {
		e := &s.fleet.Endpoints[i]
		at, ok := slices.BinarySearchFunc(s.static.facts, e.Name, func(f *facts, name string) int {
			return strings.Compare(f.endpoint.Name, name)
		})
		if ok && s.static.facts[at].endpoint.Identity == e.Identity {
			w := compileWord(e, locality)
			s.words[at] = &w
			if prev != nil && prev.static == s.static && prev.words[at] != nil && *prev.words[at] == w {
				s.words[at] = prev.words[at]
			}
		}
	}
	s.retry = make(map[string]FleetWorkload, len(s.fleet.Workloads))
	for _, w := range s.fleet.Workloads {
		s.retry[w.Name] = w
	}
}

// Version is the catalog's.
func (s *Snapshot) Version() CatalogVersion { return s.static.catalog.Version }

// Catalog is what was compiled; it must not be changed.
func (s *Snapshot) Catalog() *Catalog { return s.static.catalog }

// Fleet is the overlay that was compiled, or nil; it must not be changed.
func (s *Snapshot) Fleet() *Fleet { return s.fleet }

// Static is the answer of a workload's contract for one endpoint, before any request,
// for any tenant.
func (s *Snapshot) Static(workload, endpoint string) Reason {
	w, f := s.static.workloads[workload], s.static.byName[endpoint]
	if w == nil || f == nil {
		return ReasonUnsupported
	}
	return w.admits(f, &ask{apis: w.apis}, nil)
}
