package fleet

import (
	"cmp"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	useSpan    = 5 * minute // a node that sent nothing for so long does not use the endpoint
	okHalf     = 20 * second
	mostRows   = 1 << 20 // one row never counts for more, whatever a leaf says,
	mostTokens = 1 << 30 // nor for more tokens: those of all leaves, with 2^16 rows each, fit into a sum
	mostSites  = 64      // localities of an endpoint; the others are taken together
)

// site is one endpoint as one locality sees it.
type site struct {
	endpoint  *endpoint
	locality  string
	witnesses []*witness // by node
	idleAt    int64      // before, all of them use the endpoint
	votes     int        // that stand
	failing   [breaker.Classes][tracks]int
	rests     rest
	renewed   int64 // evidence that began before it is of an older round
	load      sums
	success   float64 // decayed, as is samples, to okAt
	samples   float64
	okAt      int64
	slow      slowness
}

// witness is one node at one site.
type witness struct {
	node  *node
	used  int64
	votes []standing
	lanes [breaker.Classes]*lane
}

// standing is a vote of one leaf on the node.
type standing struct {
	leaf *leaf
	vote route.Vote
}

// sums are what a load adds up to.
type sums struct{ inFlight, pending, outstanding uint64 }

func loadOf(r *route.Row) sums {
	return sums{min(r.InFlight, mostRows), min(r.PendingPromptTokens, mostTokens), min(r.OutstandingTokens, mostTokens)}
}

func (s *sums) give(p sums) {
	s.inFlight, s.pending, s.outstanding = s.inFlight+p.inFlight, s.pending+p.pending, s.outstanding+p.outstanding
}

func (s *sums) take(p sums) {
	s.inFlight, s.pending, s.outstanding = s.inFlight-p.inFlight, s.pending-p.pending, s.outstanding-p.outstanding
}

func (s *site) compare(t *site) int {
	return cmp.Or(cmp.Compare(s.endpoint.spec.Name, t.endpoint.spec.Name), cmp.Compare(s.locality, t.locality))
}

func (e *endpoint) site(locality string) *site {
	if len(e.sites) == 1 && e.sites[0].locality == locality {
		return e.sites[0]
	}
	i, ok := slices.BinarySearchFunc(e.sites, locality, func(s *site, l string) int { return cmp.Compare(s.locality, l) })
	if !ok && len(e.sites) >= mostSites && locality != "" {
		return e.site("")
	}
	if !ok {
		e.sites = slices.Insert(e.sites, i, &site{endpoint: e, locality: locality})
	}
	return e.sites[i]
}

func (s *site) witness(n *node) *witness {
	if n.seat < len(s.witnesses) && s.witnesses[n.seat].node == n {
		return s.witnesses[n.seat]
	}
	i, ok := slices.BinarySearchFunc(s.witnesses, n.name, func(w *witness, name string) int { return cmp.Compare(w.node.name, name) })
	if !ok {
		s.witnesses, s.idleAt = slices.Insert(s.witnesses, i, &witness{node: n}), 0
	}
	s.witnesses[i].node, n.seat = n, i
	return s.witnesses[i]
}

// add counts a row of one witness.
func (s *site) add(at when, w *witness, r *route.Row) {
	l := w.lanes[r.Class]
	if l == nil {
		p := &s.endpoint.spec.Breaker
		l = &lane{admits: newWindows(p), finishes: newWindows(p)}
		w.lanes[r.Class] = l
	}
	l.add(at, r, &s.endpoint.spec.Breaker)
	if r.AdmitFailed+r.FinishFailed+r.Slow+r.Limited > 0 || l.failing != [tracks]bool{} {
		s.look(at.bad, w, r.Class) // a success makes nobody fail
	}
	if r.Class == breaker.Any {
		s.succeed(at.bad, r)
		s.slow.add(at.bad, r)
		w.node.conduct(s.endpoint.spec.Provider).window.Add(at.bad, clip(r.Admitted), clip(r.AdmitFailed)+clip(r.FinishFailed))
	}
}

// succeed adds to the decayed success of the site. Scores alone go by it, together with what a process
// counts itself, and that takes what a validator refused for an attempt that was not served.
func (s *site) succeed(at int64, r *route.Row) {
	if at > s.okAt {
		d := window.Decay(at-s.okAt, okHalf)
		s.success, s.samples, s.okAt = s.success*d, s.samples*d, at
	}
	weight := window.Decay(s.okAt-at, okHalf)
	good, bad := float64(clip(r.Finished)), float64(clip(r.AdmitFailed))+float64(clip(r.FinishFailed))+float64(clip(r.Invalid))
	s.success += float64(weight * good)
	s.samples += float64(weight * (good + bad))
}

// look notes on which tracks a witness fails by itself: a quorum cannot fail without.
func (s *site) look(now int64, w *witness, c breaker.Class) {
	l := w.lanes[c]
	for t := range tracks {
		fails := s.fails(now, l, t, sudden) || s.fails(now, l, t, fast) || s.fails(now, l, t, slow)
		if fails && !l.failing[t] {
			s.failing[c][t]++
		} else if !fails && l.failing[t] {
			s.failing[c][t]--
		}
		l.failing[t] = fails
	}
}

func (s *site) fails(now int64, l *lane, t track, v span) bool {
	ok, bad := l.counts(now, t, v)
	return s.crosses(t, v, float64(bad), float64(ok+bad))
}

// crosses holds a track's samples against its limit; a zero in the policy is a value. All
// of a sudden it takes half of the rest too: failures are told at once, what is well a second later.
func (s *site) crosses(t track, v span, bad, n float64) bool {
	p := &s.endpoint.spec.Breaker
	switch {
	case bad == 0:
		return false
	case t == paces:
		return v != sudden && p.TTFTLimit > 0 && bad > breaker.LateLimit*n
	case t == throttles:
		return v == slow && bad >= n
	case v == sudden:
		return 2*bad >= (1+p.FailureRatio)*n
	}
	return bad >= p.FailureRatio*n
}

// least is how many pooled samples it takes. All of a sudden a full quorum needs half as many:
// three quarters of those are no likelier by chance than half of all.
func (s *site) least(v span, need int) float64 {
	least := float64(s.endpoint.spec.Breaker.MinSamples)
	if v == sudden && need == quorumMost {
		return max(least/2, 1)
	}
	return least
}

// sweep drops witnesses that neither use the endpoint nor vote, and looks at the others.
func (s *site) sweep(now int64) {
	if now >= s.idleAt {
		s.dismiss(now)
	}
	if s.failing == [breaker.Classes][tracks]int{} {
		return
	}
	for _, w := range s.witnesses {
		for c, l := range w.lanes {
			if l != nil && l.failing != [tracks]bool{} {
				s.look(now, w, breaker.Class(c))
			}
		}
	}
}

// dismiss drops witnesses that neither use the endpoint nor vote.
func (s *site) dismiss(now int64) {
	s.idleAt = now + useSpan
	s.witnesses = slices.DeleteFunc(s.witnesses, func(w *witness) bool {
		if w.uses(now) {
			s.idleAt = min(s.idleAt, w.used+useSpan)
			return false
		}
		s.clear(w)
		return true
	})
}

// recall keeps those who use an endpoint as witnesses of its return: while it was held
// they could not show it.
func (s *site) recall(now int64) {
	for _, w := range s.witnesses {
		if w.uses(now) {
			w.used = now
		}
	}
}

func (w *witness) uses(now int64) bool { return len(w.votes) > 0 || now-w.used < useSpan }

func (s *site) empty(now int64) bool {
	return len(s.witnesses) == 0 && s.load == sums{} && now-s.okAt > 40*okHalf
}

// clear drops all evidence of a witness.
func (s *site) clear(w *witness) {
	for c, l := range w.lanes {
		if l != nil {
			s.drop(w, breaker.Class(c))
		}
	}
}

func (s *site) drop(w *witness, c breaker.Class) {
	for t, fails := range w.lanes[c].failing {
		if fails {
			s.failing[c][t]--
		}
	}
	w.lanes[c] = nil
}

func (s *site) forget() {
	for _, w := range s.witnesses {
		s.clear(w)
	}
}

// renew starts evidence afresh after a class changed: its own, and for Any all. A wider
// class keeps what is not of the narrower one.
func (s *site) renew(now int64, c breaker.Class) {
	s.renewed = now
	if c == breaker.Any {
		s.forget()
		return
	}
	for _, w := range s.witnesses {
		if all, part := w.lanes[breaker.Any], w.lanes[c]; all != nil && part != nil {
			all.subtract(part)
			s.look(now, w, breaker.Any)
		}
		for d := breaker.Stream; d < breaker.Classes; d++ {
			if w.lanes[d] != nil {
				s.drop(w, d)
			}
		}
	}
}
