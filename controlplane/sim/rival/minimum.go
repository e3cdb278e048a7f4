package rival

import (
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim"
)

// minimum is the bad example: it asks whoever had the least in flight per learned speed in the
// state that was pushed last, as everybody else does until the next push, so that all run to
// one place (Mitzenmacher, How useful is old information, 2000). It knows the fleet's state, as
// our own strategies do, and forgets what it sent itself.
type minimum struct {
	silent
	overlay func(client int32) *route.Fleet
	place   map[string]int32
	seen    []view
}

// view is what a client was pushed, as loads by place.
type view struct {
	of   *route.Fleet
	load []float64
}

func startMinimum(v *sim.View, _ map[string]float64) sim.Rival {
	r := &minimum{overlay: v.Overlay, place: make(map[string]int32, len(v.Names)), seen: make([]view, v.Clients)}
	for i, name := range v.Names {
		r.place[name] = int32(i)
	}
	return r
}

// Choose takes the minimum.
func (r *minimum) Choose(_ int64, q *sim.Query) int {
	s, d := &r.seen[q.Client], drawsOf(q.Seed)
	if f := r.overlay(q.Client); f != s.of || s.load == nil {
		r.read(s, f)
	}
	return least(q.Eligible, &d, func(p int32) float64 { return s.load[p] })
}

func (r *minimum) read(s *view, f *route.Fleet) {
	if s.of = f; s.load == nil {
		s.load = make([]float64, len(r.place))
	}
	clear(s.load)
	if f == nil {
		return
	}
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		place, known := r.place[e.Name]
		if !known {
			continue
		}
		for _, l := range e.Loads {
			s.load[place] += float64(l.InFlight)
		}
		if e.Speed > 0 {
			s.load[place] /= e.Speed
		}
	}
}
