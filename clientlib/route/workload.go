package route

import (
	"math"
	"slices"
)

// workload is what callers name, as compiled. It never changes.
type workload struct {
	spec       *Workload
	requires   set
	apis       set
	compliance set
	tiers      [][]int32 // indices of facts, ascending: by name
	windows    []int64   // distinct context windows, ascending
	caps       []int64   // distinct output caps, ascending
	bands      []Band    // of cost_tiered
	hands      [][]int32 // the places of each tier's bands: see handOf
	homes      [][]Home  // by hand, when requests have homes
	tables     []*Maglev // of those
}

func (s *static) compileWorkloads(prev *static, f *faults) {
	seen := map[string]bool{}
	for i := range s.catalog.Workloads {
		w := &s.catalog.Workloads[i]
		f.unique("workloads", seen, w.Name)
		s.workloads[w.Name] = compileWorkload(prev, s, w, f)
	}
	s.town = nil
}

// compileWorkload returns what prev made of the same workload; prev is nil when that was
// of other endpoints.
func compileWorkload(prev, s *static, spec *Workload, f *faults) *workload {
	if prev != nil {
		if was := prev.workloads[spec.Name]; was != nil && was.spec.same(spec) {
			return was.rehouse(s)
		}
	}
	kept := *spec // the compiled workload outlives the catalog that it came with
	w := &workload{spec: &kept, tiers: make([][]int32, len(spec.Tiers))}
	w.requires = s.vocabulary.capabilities.set(spec.Contract.Requires)
	w.apis = s.vocabulary.apis.set(spec.APIs)
	w.compliance = s.vocabulary.compliance.set(spec.Contract.Compliance)
	if spec.Unusable != "" {
		return w
	}
	for i := range spec.Tiers {
		w.tiers[i] = s.places(spec, &spec.Tiers[i], f)
		for _, at := range w.tiers[i] {
			w.windows = note(w.windows, s.facts[at].endpoint.ContextWindow)
			w.caps = note(w.caps, s.facts[at].endpoint.MaxOutputTokens)
		}
	}
	checkWorkload(spec, f)
	w.divide(s)
	if place := w.bandless(); place != nowhere {
		f.add("workloads[%q].bands: endpoint %q is in none: no band has model %q", spec.Name, s.facts[place].endpoint.Name, s.facts[place].endpoint.Model)
	}
	w.house(s)
	return w
}

// places finds a tier's endpoints.
func (s *static) places(w *Workload, t *Tier, f *faults) []int32 {
	all := make([]int32, 0, len(t.Endpoints))
	for _, name := range t.Endpoints {
		if at, ok := s.index[name]; ok {
			all = append(all, at)
		} else {
			f.add("workloads[%q].tiers[%q].endpoints: no endpoint %q", w.Name, t.Name, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// size counts the endpoints of all tiers.
func (w *workload) size() (n int) {
	for _, places := range w.tiers {
		n += len(places)
	}
	return n
}

// note keeps distinct sizes, ascending.
func note(sizes []int64, n int64) []int64 {
	i, known := slices.BinarySearch(sizes, n)
	if known {
		return sizes
	}
	return slices.Insert(sizes, i, n)
}

// bucket is the smallest of the sizes that holds n: requests of one bucket fit the same
// endpoints. 0 is no need, and no limit.
func bucket(sizes []int64, n int64) int64 {
	if n <= 0 {
		return 0
	}
	for _, size := range sizes { // there are few
		if size >= n {
			return size
		}
	}
	return math.MaxInt64
}
