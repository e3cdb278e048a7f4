package fleet

import (
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	slowHalf      = 10 * second
	mostExplained = 10 * second // one row never counts for more, whatever a leaf says,
	mostSlowdown  = 64.0        // nor for slower answers
)

// slowness is how long first tokens took at one site, next to what their inputs explain. It
// fades; at is until when it has.
type slowness struct {
	waited, explained float64 // µs
	samples           float64
	at                int64
}

// add counts a row. There are no more samples in it than its inputs can be of.
func (s *slowness) add(at int64, r *route.Row) {
	if r.ExplainedUS == 0 || r.WaitedUS == 0 {
		return
	}
	if at > s.at {
		d := window.Decay(at-s.at, slowHalf)
		s.waited, s.explained, s.samples, s.at = s.waited*d, s.explained*d, s.samples*d, at
	}
	weight := window.Decay(s.at-at, slowHalf)
	explained := min(float64(r.ExplainedUS), mostExplained)
	times := min(max(float64(r.WaitedUS)/float64(r.ExplainedUS), 1/mostSlowdown), mostSlowdown)
	s.explained += float64(weight * explained)
	s.waited += float64(float64(weight*explained) * times)
	s.samples += float64(weight * min(float64(clip(r.Finished)), explained/firstUS))
}

// tell is how many times as long first tokens took, and of how many samples; 0: none is known.
func (s *slowness) tell(now int64) (slowdown, samples float64) {
	if s.explained == 0 {
		return 0, 0
	}
	return s.waited / s.explained, s.samples * window.Decay(now-s.at, slowHalf)
}
