package fleet

import (
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

const (
	named    = 5   // nodes in an evidence
	tireless = 500 // voters that are judged on every arrival,
	tiring   = 20  // µs of rest for each more: some twenty times what judging takes
)

// finding is why a class is to open.
type finding struct {
	class    breaker.Class
	phase    breaker.Phase
	soft     bool
	evidence string
}

// judge opens what a site's standing votes or pooled samples explain.
func (f *Fleet) judge(now int64, s *site) {
	if s.quiet() || f.learns(now, s) || f.resting(now, s) {
		return
	}
	voters := f.voters(now, s)
	s.rests.until = now + tiring*max(int64(len(voters))-tireless, 0)
	for c := range breaker.Classes {
		if len(voters) == 0 || s.endpoint.refuses(c, s.locality, true) {
			continue
		}
		found, ok := s.byVotes(now, c, voters)
		if !ok {
			found, ok = s.bySamples(now, c, voters)
		}
		if ok && !s.endpoint.refuses(found.class, s.locality, !found.soft) {
			f.open(now, s, found)
		}
	}
}

// quiet tells at once that nothing can open: nobody votes, and nobody fails.
func (s *site) quiet() bool {
	return s.votes == 0 && s.failing == [breaker.Classes][tracks]int{}
}

// rest is how long a site that many use is not judged again, so that a fleet of thousands
// that fails a little costs its judge little.
type rest struct {
	until int64
	waits bool // evidence came meanwhile
}

// resting puts a judgement off.
func (f *Fleet) resting(now int64, s *site) bool {
	s.rests.waits = now < s.rests.until
	if s.rests.waits {
		f.due = min(f.due, s.rests.until)
	}
	return s.rests.waits
}

// rested judges what was put off, and says when the next is due.
func (f *Fleet) rested(now int64, e *endpoint) (next int64) {
	next = now + sweepEvery
	for _, s := range e.sites {
		if s.rests.waits {
			f.judge(now, s)
		}
		if s.rests.waits {
			next = min(next, s.rests.until)
		}
	}
	return next
}

// voters are the witnesses that use the endpoint, live, and are not sick themselves.
func (f *Fleet) voters(now int64, s *site) (out []*witness) {
	for _, w := range s.witnesses {
		if w.node.leaves > 0 && w.uses(now) && !f.sick(now, w.node, s.endpoint.spec.Provider) {
			out = append(out, w)
		}
	}
	return out
}

// sick tells whether a node fails on more than half of the providers other than this one:
// then it is the node that fails, and it has no vote. A provider that the fleet holds says
// nothing about a node.
func (f *Fleet) sick(now int64, n *node, provider string) bool {
	used, failing := 0, 0
	for name, c := range n.providers {
		ok, failed := c.window.Counts(now)
		if name == provider || f.troubled[name] || ok+failed == 0 && c.votes == 0 {
			continue
		}
		used++
		if c.votes > 0 && ok == 0 || failed >= sickSamples && failed >= ok {
			failing++
		}
	}
	return 2*failing > used
}

// byVotes finds a quorum of standing trips. A vote on Any counts for a narrower class too,
// but only beside one on that class.
func (s *site) byVotes(now int64, c breaker.Class, voters []*witness) (finding, bool) {
	all, need := s.users(now, voters)
	var hard, soft, finish, own int
	var who []string
	for _, w := range voters {
		b := s.ballots(w, c)
		if b.hard+b.soft == 0 {
			continue
		}
		if b.hard > 0 {
			hard++
		} else {
			soft++
		}
		if b.finish == b.hard+b.soft {
			finish++
		}
		own += b.own
		if len(who) < named {
			who = append(who, w.node.name+" ("+b.reason+")")
		}
	}
	if hard+soft < need || own == 0 {
		return finding{}, false
	}
	out := finding{class: c, soft: hard < need}
	if 2*finish > hard+soft {
		out.phase = breaker.Finish
	}
	out.evidence = fmt.Sprintf("%d of %d nodes opened it, %d needed: %s", hard+soft, all, need, strings.Join(who, ", "))
	return out, true
}

// tallied are the votes of one witness on one class.
type tallied struct {
	hard, soft, finish, own int
	reason                  string
}

func (s *site) ballots(w *witness, c breaker.Class) (b tallied) {
	for i := range w.votes {
		v := &w.votes[i].vote
		if v.Class != c && v.Class != breaker.Any || v.Round < s.endpoint.cleared(v.Class, s.locality) {
			continue
		}
		if v.Soft {
			b.soft++
		} else {
			b.hard++
		}
		if v.Phase == breaker.Finish {
			b.finish++
		}
		if v.Class == c {
			b.own++
		}
		b.reason = v.Reason
	}
	return b
}

// bySamples finds a class whose pooled samples cross a limit while a quorum of witnesses
// crosses it too. The narrowest class that explains it is found.
func (s *site) bySamples(now int64, c breaker.Class, voters []*witness) (finding, bool) {
	all, need := s.users(now, voters)
	for t := range tracks {
		if s.failing[c][t] == 0 {
			continue
		}
		for v := range s.spans(now) {
			v := sampling{s, now, t, v, voters}
			p := v.pool(c)
			if p.n < s.least(v.span, need) || !v.crosses(p.bad, p.n) || p.failing < need {
				continue
			}
			out := finding{class: v.narrowest(c, p), soft: t == paces}
			if t == finishes {
				out.phase = breaker.Finish
			}
			out.evidence = fmt.Sprintf("%.0f of %.0f %s, %d of %d nodes so, %d needed", p.bad, p.n, t, p.failing, all, need)
			return out, true
		}
	}
	return finding{}, false
}

func (t track) String() string {
	return [tracks]string{"failed before the first token", "failed after the first token", "above ttft_limit", "limited, none served"}[t]
}

// sampling is what voters counted on one track, in one span.
type sampling struct {
	*site
	now    int64
	track  track
	span   span
	voters []*witness
}

func (v sampling) crosses(bad, n float64) bool { return v.site.crosses(v.track, v.span, bad, n) }

// pooled are the samples of all voters, each weighted so that none outweighs the rest.
type pooled struct {
	bad, n  float64
	failing int
	weights []float64
}

func (v sampling) pool(c breaker.Class) pooled {
	p := pooled{weights: make([]float64, len(v.voters))}
	samples := make([]int64, len(v.voters))
	_, need := v.users(v.now, v.voters)
	least := v.endpoint.spec.Breaker.MinSamples / int64(2*need) // a slip or two is no failing
	for i, w := range v.voters {
		bad, n := v.counts(w, c)
		if samples[i] = n; n >= least && v.crosses(float64(bad), float64(n)) {
			p.failing++
		}
	}
	limit := most(samples)
	for i, n := range samples {
		if n > 0 {
			p.weights[i] = float64(min(n, limit)) / float64(n)
		}
	}
	p.bad, p.n = v.weigh(c, p.weights)
	return p
}

// weigh sums one class of the voters' samples.
func (v sampling) weigh(c breaker.Class, weights []float64) (bad, n float64) {
	for i, w := range v.voters {
		b, all := v.counts(w, c)
		bad += float64(weights[i] * float64(b))
		n += float64(weights[i] * float64(all))
	}
	return bad, n
}

func (v sampling) counts(w *witness, c breaker.Class) (bad, n int64) {
	if w.lanes[c] == nil {
		return 0, 0
	}
	ok, bad := w.lanes[c].counts(v.now, v.track, v.span)
	return bad, ok + bad
}

// narrowest is the class with the fewest samples that crosses while all that is outside it
// is well; else the class that crossed.
func (v sampling) narrowest(c breaker.Class, p pooled) breaker.Class {
	best, fewest := c, p.n
	allBad, all := v.weigh(breaker.Any, p.weights)
	least := max(float64(v.endpoint.spec.Breaker.MinSamples/2), 1)
	for d := breaker.Stream; d < breaker.Classes; d++ {
		bad, n := v.weigh(d, p.weights)
		well := all-n >= least && !v.crosses(2*(allBad-bad), all-n)
		if d != c && well && n <= fewest && n > 0 && v.crosses(bad, n) {
			best, fewest = d, n
		}
	}
	return best
}
