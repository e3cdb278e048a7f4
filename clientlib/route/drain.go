package route

import (
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

const drainStep = 8 // tallies: a lock is held for some ten µs

// draining is a report that is being made.
type draining struct {
	begun bool
	from  []*tally // those whose turn comes
	spare []*tally // empty, for the next report
}

// Report drains rows and probes since the last report, and tells all standing votes.
func (r *Router) Report(now int64) Report {
	var out Report
	for !r.Drain(now, &out) {
	}
	return out
}

// Drain is Report by parts, into one that was empty at the first: it tells whether that was
// the last part. Between two of them a lock around the router need not be held.
func (r *Router) Drain(now int64, out *Report) (done bool) {
	d := &r.draining
	if !d.begun {
		r.beginReport(now, out)
	}
	n := min(drainStep, len(d.from))
	for _, t := range d.from[:n] {
		r.sort(t)
		if t.owner.leftAt == 0 { // protocol.md, Report: rows only for endpoints in one's view
			out.Rows = t.rows(out.Rows, &r.sum)
		}
		if t.dirty = r.empty(t); t.dirty {
			r.dirty = append(r.dirty, t)
		} else if name := t.work.compiled.spec.Name; r.works[name] == nil {
			delete(t.owner.tallies, name)
		}
	}
	clear(d.from[:n])
	if d.from = d.from[n:]; len(d.from) > 0 {
		return false
	}
	d.begun, out.Votes = false, r.votes()
	out.Sheds, out.Spent = r.drainSheds(), r.spentQuotas(now)
	return true
}

// beginReport takes the gauges, and whose turn comes.
func (r *Router) beginReport(now int64, out *Report) {
	out.At, out.Probes = now, r.probes
	r.probes, r.urgent = nil, false
	for i := range r.slots {
		if s := &r.slots[i]; s.serial != 0 {
			r.soil(s.tally)
			r.cell(s.tally, s.combination()).gauges.add(now, s)
		}
	}
	d := &r.draining
	d.begun, d.from, r.dirty, d.spare = true, r.dirty, d.spare[:0], r.dirty
}

// soil has a tally reported.
func (r *Router) soil(t *tally) {
	if !t.dirty {
		t.dirty = true
		r.dirty = append(r.dirty, t)
	}
}

func (g *gauges) add(now int64, s *slot) {
	g.inFlight++
	g.pending += s.pending(now)
	g.tokens += s.input + s.output
}

// empty makes a tally count from nothing; busy is one that has attempts in flight.
func (r *Router) empty(t *tally) (busy bool) {
	t.worked, t.busy, t.waits = 0, 0, waits{}
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
func (t *tally) rows(rows []Row, scratch *cell) []Row {
	for class := range breaker.Classes {
		c, cost, told := t.sum(class, scratch)
		if !told && class != breaker.Any {
			continue
		}
		rows = another(rows)
		row := &rows[len(rows)-1]
		row.Endpoint, row.Identity, row.Class, row.Workload, row.Cost = t.owner.name, t.owner.identity, class, t.work.compiled.spec.Name, cost
		c.tell(row)
		if class == breaker.Any {
			t.tell(row)
		}
	}
	return rows
}

// another appends an empty row, in the memory of an earlier report where there is some.
func another(rows []Row) []Row {
	if len(rows) == cap(rows) {
		return append(rows, Row{})
	}
	rows = rows[:len(rows)+1]
	row := &rows[len(rows)-1]
	*row = Row{TTFT: row.TTFT[:0]}
	return rows
}

// sum is what was counted of a class: that of one cell alone, else their sum.
func (t *tally) sum(class breaker.Class, into *cell) (c *cell, cost money.Nano, told bool) {
	for k, part := range t.cells {
		switch {
		case part == nil || !breaker.ClassSet(k<<1|1).Has(class):
			continue
		case c == nil:
			c = part
		default:
			if c != into {
				*into = *c
				c = into
			}
			c.add(part)
		}
		cost = cost.Plus(t.cost[k])
	}
	if c == nil {
		*into = cell{}
		return into, cost, false
	}
	return c, cost, true
}

// tell is of all classes.
func (t *tally) tell(row *Row) {
	row.WorkUS, row.BusyUS = uint64(t.worked), uint64(t.busy)
	row.WaitedUS, row.ExplainedUS = uint64(t.waited), uint64(t.explained)
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
