package faults

import (
	"github.com/pointsman/pointsman/clientlib"
)

// accounted holds attempts to usage that was told, or is marked as estimated: of the stream that was cut, and of a
// all if it tells nothing.
func (s *scene) accounted(quiet bool) {
	s.t.Helper()
	cut := 0
	for i, a := range s.Attempts() {
		o := a.Outcome
		guessed := quiet && a.Endpoint == "a"
		switch want := (clientlib.Usage{Input: 10, Output: tokens}); {
		case o.Kind == clientlib.Served:
			if o.Usage != want && !(guessed && s.policy == unstreamed) || !o.HasUsage || o.Estimated != guessed {
				s.t.Errorf("attempt %d at %q: usage %+v, estimated %v", i, a.Endpoint, o.Usage, o.Estimated)
			}
		case o.HasUsage:
			cut++
			if want.Output = 40; o.Usage != want || !o.Estimated {
				s.t.Errorf("attempt %d at %q: usage %+v, estimated %v", i, a.Endpoint, o.Usage, o.Estimated)
			}
		case a.Cost != 0:
			s.t.Errorf("attempt %d at %q: cost %v of nothing", i, a.Endpoint, a.Cost)
		}
	}
	if streamed := s.policy != unstreamed; streamed && cut != 1 {
		s.t.Errorf("%d attempts were cut", cut)
	}
}
