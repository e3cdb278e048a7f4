package route

import (
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// Report drains rows and probes since the last report, and tells all standing votes.
func (r *Router) Report(now int64) Report {
	out := Report{At: now, Probes: r.probes}
	r.probes, r.urgent = nil, false
	for i := range r.slots {
		if s := &r.slots[i]; s.serial != 0 {
			r.cell(s.tally, s.combination()).gauges.add(now, s)
		}
	}
	kept := r.dirty[:0]
	for _, t := range r.dirty {
		r.sort(t)
		if t.owner.leftAt == 0 { // protocol.md, Report: rows only for endpoints in one's view
			out.Rows = t.rows(out.Rows)
		}
		if t.dirty = r.empty(t); t.dirty {
			kept = append(kept, t)
		} else if name := t.work.compiled.spec.Name; r.works[name] == nil {
			delete(t.owner.tallies, name)
		}
	}
	clear(r.dirty[len(kept):])
	r.dirty = kept
	out.Votes = r.votes()
	return out
}

func (g *gauges) add(now int64, s *slot) {
	g.inFlight++
	g.pending += s.pending(now)
	g.tokens += s.input + s.output
}

// empty makes a tally count from nothing; busy is one that has attempts in flight.
func (r *Router) empty(t *tally) (busy bool) {
	t.cost = [combinations]money.Nano{}
	for k, c := range t.cells {
		if c != nil {
			busy = busy || c.inFlight > 0
			c.counts, c.gauges = [results]uint64{}, gauges{}
			c.times.Clear()
			t.cells[k], r.cells = nil, append(r.cells, c)
		}
	}
	return busy
}

// rows appends a row for each class that has something to tell, and always for Any.
func (t *tally) rows(rows []Row) []Row {
	for class := range breaker.Classes {
		var sum cell
		var cost money.Nano
		told := class == breaker.Any
		for k, c := range t.cells {
			if c != nil && breaker.ClassSet(k<<1|1).Has(class) {
				sum.add(c)
				cost = cost.Plus(t.cost[k])
				told = true
			}
		}
		if told {
			rows = append(rows, Row{Endpoint: t.owner.name, Identity: t.owner.identity, Class: class, Workload: t.work.compiled.spec.Name, Cost: cost})
			sum.tell(&rows[len(rows)-1])
		}
	}
	return rows
}

func (c *cell) add(o *cell) {
	for i, n := range o.counts {
		c.counts[i] += n
	}
	c.inFlight, c.pending, c.tokens = c.inFlight+o.inFlight, c.pending+o.pending, c.tokens+o.tokens
	c.times.Merge(&o.times)
}

func (c *cell) tell(row *Row) {
	of := func(m mark) uint64 { return c.counts[m-slow] }
	row.AdmitFailed, row.Slow = of(admitFailed), of(slow)
	row.Finished, row.FinishFailed = of(finished), of(finishFailed)
	row.Limited, row.Excluded, row.Invalid = of(limited), of(excluded), of(invalid)
	row.InFlight, row.PendingPromptTokens, row.OutstandingTokens = uint64(c.inFlight), uint64(c.pending), uint64(c.tokens)
	for index, n := range c.times.All() {
		row.Admitted += n
		row.TTFT = append(row.TTFT, Bucket{index, n})
	}
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
