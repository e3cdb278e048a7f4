package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

// What goes on for minutes is told, although requests succeed (requirements.md, C4).
const (
	lastsFor = 5      // minutes (control-plane.md, Judging)
	relaxed  = minute // without another refusal nothing is used up any more
	spilling = 0.2    // of a workload's answers, below its first tier
)

// strains are what is limited, by what it is, and what spills.
type strains struct {
	limits map[strained]*strain
	spills map[string]*spill // by workload
	turned int64             // when the current minute began
}

// strained is an endpoint, a quota or a workload.
type strained struct{ endpoint, quota, workload string }

func (s strained) compare(o strained) int {
	return cmp.Or(cmp.Compare(s.endpoint, o.endpoint), cmp.Compare(s.quota, o.quota), cmp.Compare(s.workload, o.workload))
}

// strain is since when something is refused for a limit, again and again.
type strain struct {
	since, last int64
	count       uint64
	told        bool
}

func (s *strains) refuse(at int64, what strained, n uint64) {
	t := s.limits[what]
	if t == nil {
		t = &strain{since: at, last: at}
		s.limits[what] = t
	}
	if at-t.last >= relaxed {
		*t = strain{since: at}
	}
	t.last, t.count = max(t.last, at), t.count+min(n, mostRows)
}

// spill counts a workload's answers by minutes, the current one first: all, and those that
// came from a lower tier.
type spill struct {
	all, lower [lastsFor + 1]uint64
	told       bool
}

// spilled counts a row.
func (s *strains) spilled(row *route.Row, lower bool) {
	p := s.spills[row.Workload]
	if p == nil {
		p = &spill{}
		s.spills[row.Workload] = p
	}
	n := min(row.Finished, mostRows)
	p.all[0] += n
	if lower {
		p.lower[0] += n
	}
}

// turn begins a minute. It tells once that more than a fifth went lower in each of the last ones.
func (s *spill) turn() (news bool, evidence string) {
	over := true
	for i := range lastsFor {
		over = over && float64(s.lower[i]) > spilling*float64(s.all[i])
	}
	evidence = fmt.Sprintf("%d of %d answers in the last minute came from lower tiers", s.lower[0], s.all[0])
	copy(s.all[1:], s.all[:])
	copy(s.lower[1:], s.lower[:])
	s.all[0], s.lower[0] = 0, 0
	news = over && !s.told
	s.told = over
	return news, evidence
}

// strain counts what a row says of limits and of tiers.
func (f *Fleet) strain(at int64, e *endpoint, row *route.Row) {
	if row.Class != breaker.Any {
		return
	}
	if row.Limited > 0 {
		f.strains.refuse(at, strained{endpoint: e.spec.Name}, row.Limited)
	}
	if s := e.service(row.Workload); s != nil && row.Finished > 0 {
		f.strains.spilled(row, s.lower)
	}
}

// endure tells once of what has gone on for minutes.
func (f *Fleet) endure(now int64) {
	s := &f.strains
	for _, what := range slices.SortedFunc(maps.Keys(s.limits), strained.compare) {
		t := s.limits[what]
		switch {
		case now-t.last >= relaxed:
			delete(s.limits, what)
		case !t.told && now-t.since >= lastsFor*minute:
			t.told = true
			evidence := fmt.Sprintf("refused %d times in %d minutes", t.count, (now-t.since)/minute)
			if what.quota != "" {
				evidence = fmt.Sprintf("its provider has it pause, for %d minutes now", (now-t.since)/minute)
			}
			f.lasting(now, what, Event{Kind: Limited, Evidence: evidence})
		}
	}
	if now < s.turned+minute {
		return
	}
	s.turned = now
	for _, name := range slices.Sorted(maps.Keys(s.spills)) {
		p := s.spills[name]
		if news, evidence := p.turn(); news {
			f.lasting(now, strained{workload: name}, Event{Kind: Spilling, Evidence: evidence})
		}
		if p.all == [lastsFor + 1]uint64{} {
			delete(s.spills, name)
		}
	}
}

// lasting adds an event that is about no breaker.
func (f *Fleet) lasting(now int64, what strained, v Event) {
	v.At, v.Endpoint, v.Name = now, what.endpoint, cmp.Or(what.quota, what.workload)
	if e := f.endpoints[v.Endpoint]; e != nil {
		v.Identity = e.spec.Identity
	}
	f.add(v)
}
