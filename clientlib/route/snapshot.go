package route

import (
	"slices"
	"strings"
)

// Local is what this process is and can use.
type Local struct {
	Locality string
	Usable   func(*Endpoint) Reason // nil: all are
	Wall     int64                  // µs since 1970, UTC, when the core's clock is 0
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
	lineage
	declared   *Catalog
	instances  []FleetInstances // that it was expanded with
	catalog    *Catalog         // expanded
	vocabulary *vocabulary
	wall       int64            // µs since 1970, UTC, when the core's clock is 0
	facts      []*facts         // by name
	index      map[string]int32 // of facts, by name
	rates      []int64          // of facts: tokens a minute
	workloads  map[string]*workload
	town       town               // while compiling
	tenants    map[string]*tenant // none: all are the default one
	policies   []*tenant          // by policy; the first is none
	narrows    []string           // what each policy says
}

// lineage tells what a static differs in from the one before, so that what was made of that
// one can be kept. It does not keep the one before itself.
type lineage struct {
	token   *token
	parent  *token  // nil: too much differs
	changed []int32 // places of endpoints that differ from the parent's
	rations *token  // the same while quotas and tenants are
}

type token struct{ _ byte }

// tenant is what narrows every contract for one tenant.
type tenant struct {
	spec       *Tenant
	place      int32           // in the catalog
	may        map[string]bool // by workload
	policy     int32           // the same for tenants that may use the same endpoints
	compliance set
}

// Compile checks and joins what it is given and shares with prev what did not change.
// The fleet and prev may be nil. Its error names every bad field.
func Compile(prev *Snapshot, c *Catalog, f *Fleet, l Local) (*Snapshot, error) {
	if f != nil && (prev == nil || prev.fleet != f) {
		if err := f.check(); err != nil {
			return nil, err
		}
	}
	var old *static
	if prev != nil {
		old = prev.static
	}
	st, err := compileStatic(old, c, f.instances(), &l)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{static: st, fleet: f, words: make([]*word, len(st.facts))}
	s.overlay(prev, l.Locality)
	return s, nil
}

func compileStatic(prev *static, declared *Catalog, in []FleetInstances, l *Local) (*static, error) {
	c := prev.expanded(declared, in)
	if prev != nil && prev.catalog == c && prev.holds(l) {
		return prev, nil
	}
	var f faults
	checkInstances(declared, &f)
	older := prev
	st := &static{declared: declared, instances: in, catalog: c, wall: l.Wall, vocabulary: words(c, &f), workloads: make(map[string]*workload, len(c.Workloads))}
	if prev != nil && !prev.vocabulary.equal(st.vocabulary) {
		prev = nil // its sets mean something else
	}
	st.facts = compileFacts(prev, st, l, &f)
	if !st.fits(prev) {
		prev = nil
		st.index = make(map[string]int32, len(st.facts))
		for i := range st.facts {
			st.index[st.facts[i].endpoint.Name] = int32(i)
		}
	}
	st.rateAll()
	st.compileWorkloads(prev, &f)
	st.compileTenants(&f)
	st.descend(prev)
	st.rationAs(older)
	checkOverrides(c, &f)
	return st, f.err()
}

// expanded is the catalog with an endpoint for each instance, as it was made before if nothing
// of that changed.
func (s *static) expanded(declared *Catalog, in []FleetInstances) *Catalog {
	if s != nil && s.declared == declared && (s.catalog == declared || slices.EqualFunc(s.instances, in, FleetInstances.same)) {
		return s.catalog
	}
	return Expand(declared, in)
}

// descend notes what differs from prev, which has the same endpoints by name; or is nil.
func (s *static) descend(prev *static) {
	s.token = &token{}
	if prev == nil || !slices.Equal(prev.narrows, s.narrows) {
		return
	}
	s.parent = prev.token
	for i, f := range s.facts {
		if f != prev.facts[i] {
			s.changed = append(s.changed, int32(i))
		}
	}
}

// rationAs notes whether quotas and tenants are those of prev, or nil.
func (s *static) rationAs(prev *static) {
	s.rations = &token{}
	if prev != nil && slices.Equal(prev.catalog.Quotas, s.catalog.Quotas) && slices.EqualFunc(prev.catalog.Tenants, s.catalog.Tenants, Tenant.same) {
		s.rations = prev.rations
	}
}

// of finds an endpoint's facts, or nil.
func (s *static) of(name string) *facts {
	if s == nil {
		return nil
	}
	if i, ok := s.index[name]; ok {
		return s.facts[i]
	}
	return nil
}

// ofAny finds an endpoint's facts, or those of its first instance, or nil.
func (s *static) ofAny(name string) *facts {
	if f := s.of(name); f != nil {
		return f
	}
	i, _ := slices.BinarySearchFunc(s.facts, InstanceName(name, ""), func(f *facts, name string) int { return strings.Compare(f.endpoint.Name, name) })
	if i < len(s.facts) && Declared(s.facts[i].endpoint.Name) == name {
		return s.facts[i]
	}
	return nil
}

// fits tells whether what prev made of workloads holds for these endpoints too: the same
// names, models and sizes. It takes over the index then.
func (s *static) fits(prev *static) bool {
	if prev == nil || len(prev.facts) != len(s.facts) {
		return false
	}
	for i, f := range s.facts {
		e, was := f.endpoint, prev.facts[i].endpoint
		if e != was && (e.Name != was.Name || e.Model != was.Model || e.ContextWindow != was.ContextWindow || e.MaxOutputTokens != was.MaxOutputTokens) {
			return false
		}
	}
	s.index = prev.index
	return true
}

// holds tells whether this process can still use what it could, and its clock is the same.
func (s *static) holds(l *Local) bool {
	if s.wall != l.Wall {
		return false
	}
	for _, f := range s.facts {
		if f.usable != answer(l.Usable, f.endpoint) || f.retiresAt != f.endpoint.retiresAt(l.Wall) {
			return false
		}
	}
	return true
}

func (s *static) compileTenants(f *faults) {
	c := s.catalog
	checkTenants(c, f)
	s.tenants, s.policies, s.narrows = map[string]*tenant{}, []*tenant{nil}, []string{"|"}
	known := map[string]int32{"|": 0}
	for i := range c.Tenants {
		t := &tenant{spec: &c.Tenants[i], place: int32(i), may: map[string]bool{}, compliance: s.vocabulary.compliance.set(c.Tenants[i].Compliance)}
		for _, name := range t.spec.Workloads {
			t.may[name] = true
		}
		policy := strings.Join(t.spec.Regions, ",") + "|" + strings.Join(t.spec.Compliance, ",")
		if _, ok := known[policy]; !ok {
			known[policy] = int32(len(s.policies))
			s.policies, s.narrows = append(s.policies, t), append(s.narrows, policy)
		}
		t.policy = known[policy]
		s.tenants[t.spec.Name] = t
	}
}

// overlay joins the fleet's rows by name and identity.
func (s *Snapshot) overlay(prev *Snapshot, locality string) {
	if s.fleet == nil {
		return
	}
	for i := range s.fleet.Endpoints {
		e := &s.fleet.Endpoints[i]
		at, ok := s.static.index[e.Name]
		if !ok || s.static.facts[at].endpoint.Identity != e.Identity {
			continue
		}
		w := compileWord(e, locality)
		if prev != nil && int(at) < len(prev.words) && prev.words[at] != nil && *prev.words[at] == w {
			s.words[at] = prev.words[at]
		} else {
			kept := w
			s.words[at] = &kept
		}
	}
	s.retry = make(map[string]FleetWorkload, len(s.fleet.Workloads))
	for _, w := range s.fleet.Workloads {
		s.retry[w.Name] = w
	}
}

// Version is the catalog's.
func (s *Snapshot) Version() CatalogVersion { return s.static.catalog.Version }

// Catalog is what was compiled, with an endpoint for each instance; it must not be changed.
func (s *Snapshot) Catalog() *Catalog { return s.static.catalog }

// Fleet is the overlay that was compiled, or nil; it must not be changed.
func (s *Snapshot) Fleet() *Fleet { return s.fleet }

// Static is the answer of a workload's contract for one endpoint, before any request,
// for any tenant: an instance's is its endpoint's. That no instance is known yet is no
// matter of the contract.
func (s *Snapshot) Static(workload, endpoint string) Reason {
	w, f := s.static.workloads[workload], s.static.ofAny(endpoint)
	if w == nil || f == nil {
		return ReasonUnsupported
	}
	if reason := w.allows(f); reason != ReasonUnsupported || !f.endpoint.Awaits() {
		return reason
	}
	return Pass
}
