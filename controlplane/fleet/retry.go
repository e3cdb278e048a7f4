package fleet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	retrySpan    = 5 * second // catalog.md: the fast window
	retrySamples = 20         // below it nothing is known
	retryNodes   = 3          // from so many on, one alone says nothing
)

// retries is how attempts of one workload end, and what that leaves of its retries.
type retries struct {
	nodes  []*ends // by name
	factor float64
	at     int64 // when it was last told
}

// ends are what a node counted.
type ends struct {
	node   string
	window window.Window
}

// Retries drains the factors that are news, by name. Nothing needs to be known of a
// workload whose factor is 1.
func (f *Fleet) Retries() (out []route.FleetWorkload) {
	for _, name := range slices.Sorted(maps.Keys(f.retold)) {
		out = append(out, f.retold[name])
	}
	clear(f.retold)
	return out
}

// relateRetries keeps what is known of workloads that stay.
func (f *Fleet) relateRetries(now int64, c *route.Catalog) {
	before := f.retries
	f.retries = make(map[string]*retries, len(c.Workloads))
	for i := range c.Workloads {
		name := c.Workloads[i].Name
		f.retries[name] = cmp.Or(before[name], &retries{factor: 1})
		delete(before, name)
	}
	for name, r := range before {
		f.retell(now, name, r, 1)
	}
}

// ended counts a row of a node.
func (f *Fleet) ended(at int64, n *node, row *route.Row) {
	r := f.retries[row.Workload]
	if r == nil || row.Class != breaker.Any {
		return
	}
	i, ok := slices.BinarySearchFunc(r.nodes, n.name, func(e *ends, name string) int { return cmp.Compare(e.node, name) })
	if !ok {
		r.nodes = slices.Insert(r.nodes, i, &ends{n.name, window.New(retrySpan)})
	}
	r.nodes[i].window.Add(at, clip(row.Finished), clip(row.AdmitFailed)+clip(row.FinishFailed))
}

// judgeRetries tells of factors that changed, and again of those that hold on.
func (f *Fleet) judgeRetries(now int64) {
	if now < f.judges {
		return
	}
	for name, r := range f.retries {
		if factor := r.judge(now); factor != r.factor || factor < 1 && r.at+refreshEvery <= now {
			f.retell(now, name, r, factor)
		}
	}
}

func (f *Fleet) retell(now int64, name string, r *retries, factor float64) {
	if factor != 1 || r.factor != 1 {
		f.retold[name] = route.FleetWorkload{Name: name, At: now, RetryFactor: factor}
	}
	r.factor, r.at = factor, now
}

// judge is the factor as of now: clamp((0.3 − failure ratio) ÷ 0.2, 0, 1) (decision-core.md,
// a call). No node counts for more than a third of three or more, and the one that fails
// most not at all: a third is enough to end all retries.
func (r *retries) judge(now int64) float64 {
	samples := r.samples(now)
	limit := most(samples)
	var bad, all, worst, its float64
	for i, e := range r.nodes {
		_, failed := e.window.Counts(now)
		n := float64(min(samples[i], limit))
		b := float64(n*float64(failed)) / float64(samples[i])
		bad, all = bad+b, all+n
		if b > worst {
			worst, its = b, n
		}
	}
	if len(r.nodes) >= retryNodes {
		bad, all = bad-worst, all-its
	}
	if all < retrySamples {
		return 1
	}
	return min(max((float64(3*all)-float64(10*bad))/float64(2*all), 0), 1)
}

// samples are those of each node; nodes without any are forgotten.
func (r *retries) samples(now int64) (out []int64) {
	r.nodes = slices.DeleteFunc(r.nodes, func(e *ends) bool {
		ok, failed := e.window.Counts(now)
		if ok+failed > 0 {
			out = append(out, ok+failed)
		}
		return ok+failed == 0
	})
	return out
}
