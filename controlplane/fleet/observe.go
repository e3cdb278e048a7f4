package fleet

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

// Observe counts a report, at most once, and judges what it touches. Evidence counts when
// it happened; votes and loads are taken from a leaf's latest report only.
func (f *Fleet) Observe(now int64, r route.Report) {
	l := f.leaf(&r)
	if l == nil {
		return
	}
	fresh, latest := l.once.Take(r.Incarnation, r.Sequence)
	if !fresh {
		return
	}
	r.At = min(r.At, now)
	if latest {
		f.hear(now, l, &r)
	}
	if l.silent {
		return
	}
	touched := f.count(l, &r)
	if latest {
		touched = append(touched, f.stand(now, l, &r)...)
		f.pauses(l, &r)
	}
	f.refused(l, &r)
	for i := range r.Probes {
		f.probed(now, l, &r.Probes[i])
	}
	for _, s := range inOrder(touched) {
		f.judge(now, s)
	}
}

// count adds a report's rows to the windows of when they happened.
func (f *Fleet) count(l *leaf, r *route.Report) (touched []*site) {
	for i := range r.Rows {
		row := &r.Rows[i]
		e := f.known(row.Endpoint, row.Identity)
		if e == nil || row.Class >= breaker.Classes || !busy(row) {
			continue
		}
		s := e.site(r.Locality)
		w := s.witness(l.node)
		w.used = max(w.used, r.At)
		if e.serves(row.Workload) {
			l.want(r.At, row)
			f.ended(r.At, l.node, row)
			f.strain(r.At, e, row)
			e.speed.count(row)
		}
		if r.At-r.Interval < s.renewed {
			continue // of an older round, or not to be told apart from it
		}
		s.add(whenOf(r), w, row)
		e.ramped(row, s.locality)
		if n := len(touched); n == 0 || touched[n-1] != s { // rows of one endpoint come together
			touched = append(touched, s)
		}
	}
	return touched
}

func (f *Fleet) known(name string, identity uint64) *endpoint {
	if e := f.endpoints[name]; e != nil && e.spec.Identity == identity {
		return e
	}
	return nil
}

func busy(r *route.Row) bool {
	return r.Admitted+r.AdmitFailed+r.Finished+r.FinishFailed+r.Slow+r.Limited+r.Excluded+r.Invalid+r.InFlight > 0
}

// want notes what a leaf sends, so that a permit goes where it can be used.
func (l *leaf) want(at int64, r *route.Row) {
	d := l.demand[r.Workload]
	if d == nil {
		d = &[breaker.Classes]int64{}
		l.demand[r.Workload] = d
	}
	d[r.Class] = max(d[r.Class], at)
}

// stand replaces the votes and the load that a leaf stands for.
func (f *Fleet) stand(now int64, l *leaf, r *route.Report) (touched []*site) {
	l.unvote()
	l.unload()
	for _, v := range r.Votes {
		e := f.known(v.Endpoint, v.Identity)
		if e == nil || v.Class >= breaker.Classes || v.Phase >= breaker.Phases || v.Round >= maxRound {
			continue
		}
		e.round = max(e.round, v.Round)
		s := e.site(r.Locality)
		w := s.witness(l.node)
		w.votes = append(w.votes, standing{l, v})
		s.votes++
		l.voted = append(l.voted, ballot{s, w, e.spec.Provider, v.Soft})
		if !v.Soft {
			l.node.conduct(e.spec.Provider).votes++
		}
		touched = append(touched, s)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		e := f.known(row.Endpoint, row.Identity)
		if e == nil || row.Class != breaker.Any {
			continue
		}
		s := e.site(r.Locality)
		part := loadOf(row)
		s.load.give(part)
		l.loads = append(l.loads, load{s, part})
		e.touch(now)
	}
	return touched
}

// inOrder sorts sites by endpoint and locality, each once.
func inOrder(sites []*site) []*site {
	slices.SortFunc(sites, (*site).compare)
	return slices.Compact(sites)
}
