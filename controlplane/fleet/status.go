package fleet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	shedSpan  = 30 * second
	mostNames = 1 << 12 // quotas that are known to pause
)

// Status is what goes on now, for people: it decides nothing.
type Status struct {
	Spent    []Spent    // by name
	Shedding []Shedding // by workload and kind
	Reaches  []Reached  // by endpoint and node
}

// Spent is a quota that pauses after its provider's 429s. An endpoint's own has the
// endpoint's name.
type Spent struct {
	Quota  string
	Until  int64 // the latest
	Leaves int   // that say so
}

// Shedding is a workload whose calls are refused for one reason.
type Shedding struct {
	Workload  string
	Kind      route.ShedKind
	PerSecond float64 // over the last half minute
	Leaves    int     // that do
}

// Reached says whether an endpoint's address takes a connection, as one node sees it.
type Reached struct {
	Endpoint, Node string
	At             int64
	Reached        bool
	Reason         string // why not
	Connect        int64  // µs
}

// shed is a workload and a reason.
type shed struct {
	workload string
	kind     route.ShedKind
}

// told is what a leaf says for people: the quotas that it knows to pause, and when it last
// refused calls.
type told struct {
	spent []route.SpentQuota
	sheds map[shed]int64
}

// Status is as of now.
func (f *Fleet) Status(now int64) Status {
	spent, sheds := map[string]*Spent{}, map[shed]*Shedding{}
	for _, name := range f.inRoster() {
		l := f.leaves[name]
		if now-max(l.news, l.gone) >= silence {
			continue
		}
		for _, q := range l.told.spent {
			if q.Until > now {
				at := pick(spent, q.Quota, Spent{Quota: q.Quota})
				at.Until, at.Leaves = max(at.Until, q.Until), at.Leaves+1
			}
		}
		for what, at := range l.told.sheds {
			if now-at < shedSpan {
				pick(sheds, what, Shedding{Workload: what.workload, Kind: what.kind}).Leaves++
			}
		}
	}
	out := Status{Reaches: f.reached(now)}
	for _, name := range slices.Sorted(maps.Keys(spent)) {
		out.Spent = append(out.Spent, *spent[name])
	}
	for what, s := range sheds {
		if w := f.sheds[what]; w != nil {
			_, n := w.Counts(now)
			s.PerSecond = float64(n) / (float64(shedSpan) / second)
		}
		out.Shedding = append(out.Shedding, *s)
	}
	slices.SortFunc(out.Shedding, func(a, b Shedding) int {
		return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

func pick[K comparable, V any](m map[K]*V, k K, first V) *V {
	if m[k] == nil {
		m[k] = &first
	}
	return m[k]
}

// refused counts the calls that a leaf refused.
func (f *Fleet) refused(l *leaf, r *route.Report) {
	for _, s := range r.Sheds {
		if f.retries[s.Workload] == nil || s.Count == 0 {
			continue // no workload of the catalog
		}
		what := shed{s.Workload, s.Kind}
		w := f.sheds[what]
		if w == nil {
			n := window.New(shedSpan)
			w = &n
			f.sheds[what] = w
		}
		w.Add(r.At, 0, clip(s.Count))
		if l.told.sheds == nil {
			l.told.sheds = map[shed]int64{}
		}
		l.told.sheds[what] = max(l.told.sheds[what], r.At)
		if s.Kind == route.ShedLimited || s.Kind == route.ShedFull {
			f.strains.refuse(r.At, strained{workload: s.Workload}, s.Count)
		}
	}
}

// pauses takes the quotas that a leaf says pause, in its latest report.
func (f *Fleet) pauses(l *leaf, r *route.Report) {
	l.told.spent = r.Spent[:min(len(r.Spent), mostNames)]
}

// sweepStatus forgets what is over, and counts what pauses as limited.
func (f *Fleet) sweepStatus(now int64) {
	for _, name := range f.inRoster() {
		l := f.leaves[name]
		if len(l.told.spent)+len(l.told.sheds) == 0 {
			continue
		}
		maps.DeleteFunc(l.told.sheds, func(_ shed, at int64) bool { return now-at >= shedSpan })
		l.told.spent = slices.DeleteFunc(l.told.spent, func(q route.SpentQuota) bool { return q.Until <= now })
		for _, q := range l.told.spent {
			if f.endpoints[q.Quota] == nil && now-l.news < silence && len(f.strains.limits) < mostNames {
				f.strains.refuse(now, strained{quota: q.Quota}, 1)
			}
		}
	}
	maps.DeleteFunc(f.sheds, func(what shed, w *window.Window) bool {
		_, n := w.Counts(now)
		return n == 0 || f.retries[what.workload] == nil
	})
}
