package route

import (
	"math"
	"reflect"
	"slices"
)

// workload is what callers name, as compiled. It never changes.
type workload struct {
	spec       *Workload
	requires   set
	apis       set
	compliance set
	tiers      [][]place
	windows    []int64 // distinct context windows, ascending
	caps       []int64 // distinct output caps, ascending
}

// place is one endpoint in a tier.
type place struct {
	facts  *facts
	reason Reason // of the contract, before any request
}

func compileWorkload(prev, s *static, spec *Workload) *workload {
	w := &workload{spec: spec, tiers: make([][]place, len(spec.Tiers))}
	w.requires = s.vocabulary.capabilities.set(spec.Contract.Requires)
	w.apis = s.vocabulary.apis.set(spec.APIs)
	w.compliance = s.vocabulary.compliance.set(spec.Contract.Compliance)
	if spec.Unusable != "" {
		return w
	}
	if was := w.before(prev, s); was != nil {
		return was
	}
	every := ask{apis: w.apis}
	for i, t := range spec.Tiers {
		names := slices.Clone(t.Endpoints)
		slices.Sort(names)
		names = slices.Compact(names)
		w.tiers[i] = make([]place, 0, len(names))
		for _, name := range names {
			f := s.byName[name]
			w.tiers[i] = append(w.tiers[i], place{f, w.admits(f, &every, nil)})
			w.windows = note(w.windows, f.endpoint.ContextWindow)
			w.caps = note(w.caps, f.endpoint.MaxOutputTokens)
		}
	}
	return w
}

// before is what prev made of the same workload and the same endpoints, or nil.
func (w *workload) before(prev, s *static) *workload {
	if prev == nil || prev.workloads[w.spec.Name] == nil || !prev.vocabulary.equal(s.vocabulary) {
		return nil
	}
	was := prev.workloads[w.spec.Name]
	if was.spec != w.spec && !reflect.DeepEqual(was.spec, w.spec) {
		return nil
	}
	for _, tier := range was.tiers {
		for _, p := range tier {
			if s.byName[p.facts.endpoint.Name] != p.facts {
				return nil
			}
		}
	}
	return was
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
	if i, _ := slices.BinarySearch(sizes, n); i < len(sizes) {
		return sizes[i]
	}
	return math.MaxInt64
}
