package route

import (
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

// tally counts one endpoint's attempts for one workload since the last report.
type tally struct {
	owner    *learned
	workload string
	ttft     average // outlives reports
	cells    [breaker.Classes]cell
	dirty    bool // in the router's list
}

// cell counts one class.
type cell struct {
	counts
	times    *window.Histogram
	inFlight int64
	pending  int64
	tokens   int64
}

// counts are what a report drains.
type counts struct {
	Admitted, AdmitFailed   uint64
	Finished, FinishFailed  uint64
	Slow, Limited, Excluded uint64
	Cost                    money.Nano
}

func (l *learned) tally(workload string) *tally {
	t := l.tallies[workload]
	if t == nil {
		t = &tally{owner: l, workload: workload}
		l.tallies[workload] = t
	}
	return t
}

func (c *cell) time(us int64) {
	if c.times == nil {
		c.times = &window.Histogram{}
	}
	c.times.Add(us)
}

// tallied changes every cell that the attempt counts in.
func (r *Router) tallied(s *slot, change func(*cell)) {
	for c := range s.tally.cells {
		if s.classes&(1<<c) != 0 {
			change(&s.tally.cells[c])
		}
	}
	if !s.tally.dirty {
		s.tally.dirty = true
		r.dirty = append(r.dirty, s.tally)
	}
}

// evidence is what the fleet judges by. Of an attempt that was picked before the fleet's
// latest ramp there is none: the leader could only tell it apart by dropping the interval.
func (r *Router) evidence(s *slot, change func(*cell)) {
	if !s.outdated() {
		r.tallied(s, change)
	}
}

func (s *slot) outdated() bool { return s.learned.breaker.Outdated(s.classes, s.round) }

func (r *Router) gauge(s *slot, inFlight, pending, tokens int64) {
	r.tallied(s, func(c *cell) {
		c.inFlight += inFlight
		c.pending += pending
		c.tokens += tokens
	})
}

// bill counts what the answer cost, at the price of when it was sent.
func (r *Router) bill(s *slot, o Outcome) {
	if !o.HasUsage {
		return
	}
	cost := s.endpoint.Price.Cost(o.Usage)
	r.tallied(s, func(c *cell) { c.Cost = c.Cost.Plus(cost) })
}

// Report drains rows and probes since the last report, and tells all standing votes.
func (r *Router) Report(now int64) Report {
	out := Report{At: now, Probes: r.probes}
	r.probes, r.urgent = nil, false
	kept := r.dirty[:0]
	for _, t := range r.dirty {
		rows := t.drain(out.Rows)
		if t.owner.leftAt == 0 { // protocol.md, Report: rows only for endpoints in one's view
			out.Rows = rows
		}
		t.dirty = t.cells[breaker.Any].inFlight > 0
		if t.dirty {
			kept = append(kept, t)
		} else if r.works[t.workload] == nil {
			delete(t.owner.tallies, t.workload)
		}
	}
	clear(r.dirty[len(kept):])
	r.dirty = kept
	out.Votes = r.votes()
	return out
}

func (t *tally) drain(rows []Row) []Row {
	for class := range breaker.Classes {
		c := &t.cells[class]
		if c.counts == (counts{}) && c.inFlight == 0 && class != breaker.Any {
			continue
		}
		row := Row{
			Endpoint: t.owner.name, Identity: t.owner.identity, Class: class, Workload: t.workload,
			Admitted: c.Admitted, AdmitFailed: c.AdmitFailed, Finished: c.Finished, FinishFailed: c.FinishFailed,
			Slow: c.Slow, Limited: c.Limited, Excluded: c.Excluded, Cost: c.Cost,
			InFlight: uint64(c.inFlight), PendingPromptTokens: uint64(c.pending), OutstandingTokens: uint64(c.tokens),
		}
		if c.times != nil {
			for index, n := range c.times.All() {
				row.TTFT = append(row.TTFT, Bucket{index, n})
			}
			*c.times = window.Histogram{}
		}
		c.counts = counts{}
		rows = append(rows, row)
	}
	return rows
}

// votes are the local trips that stand on this process's own evidence.
func (r *Router) votes() []Vote {
	var out []Vote
	for _, l := range r.suspects {
		if l.leftAt > 0 {
			continue
		}
		r.trips = l.breaker.Trips(r.trips[:0])
		for _, t := range r.trips {
			if t.Vote {
				out = append(out, Vote{l.name, l.identity, t.Class, t.Phase, t.Round, t.Soft, t.Reason})
			}
		}
	}
	return out
}

// Urgent says that failures, trips or probes wait to be reported.
func (r *Router) Urgent() bool { return r.urgent }
