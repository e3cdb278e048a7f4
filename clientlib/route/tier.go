package route

import (
	"math"
	"slices"
)

const (
	downBelow   = 0.5 // of its share eligible
	upFrom      = 0.7
	upAfter     = 10 * second
	returnPace  = 0.2     // a second
	panicBelow  = 0.5     // of the pool's share eligible
	drift       = 0.05    // of a share: the table is built anew
	sparse      = 0.25    // of a tier ineligible: they leave the table
	refreshLast = 100_000 // µs a pool's standing is used for while time moves it
	medianLast  = second  // and its median
)

// tier is a run of a pool's members that balance among themselves.
type tier struct {
	name     string
	from, to int // members
	course   course
	eligible float64 // part of its share, 0 to 1
	table    Alias
	shares   []float64 // scratch
}

// course is how a tier fares: down below half, back after ten seconds, bit by bit.
type course struct {
	down   bool
	wellAt int64 // since when enough of it is eligible, while down
	backAt int64 // when it came back; 0: never was down
}

// standing is what holds of an endpoint for every request of a pool.
type standing struct {
	reason Reason
	soft   bool // by latency only
}

// refresh brings shares, tiers and the panic rule up to date.
func (r *Router) refresh(now int64, p *pool) {
	if now-p.sumAt >= medianLast || p.overlay != r.overlay {
		p.median, p.sumAt = r.medianOf(p), now
	}
	p.overlay, p.changes, p.dueAt = r.overlay, r.changes, now+medianLast
	var total, strict float64
	for i := range p.members {
		m := &p.members[i]
		m.base = m.baseShare(now)
		m.share = float64(m.base * m.word.factor(now, p.ask.classes))
		m.standing = m.stands(now, p.ask.classes)
		total += m.base
		if m.standing.reason == Pass {
			strict += m.base
		}
		p.dueAt = min(p.dueAt, m.movesAt(now))
	}
	r.alarm(now, p, strict < panicBelow*total)
	for i := range p.tiers {
		r.weigh(now, p, &p.tiers[i])
	}
	if p.restless() {
		p.dueAt = min(p.dueAt, now+refreshLast)
	}
}

// movesAt is when time alone may change a member's share or standing; all else that does
// is a change that the router sees.
func (m *member) movesAt(now int64) int64 {
	switch o := &m.facts.orders; {
	case m.standing.reason != Pass || m.share != m.base || now < max(o.weightTo, o.forcedTo):
		return now + refreshLast
	case m.word.fresh(now):
		return m.word.at + silence
	}
	return forever
}

// alarm switches the panic rule when there are soft trips to ignore.
func (r *Router) alarm(now int64, p *pool, few bool) {
	soft := slices.ContainsFunc(p.members, func(m member) bool { return m.standing.soft && m.base > 0 })
	if on := few && soft; on != p.panic {
		p.panic = on
		r.event(Event{Kind: either(on, EventPanic, EventCalm), At: now, Workload: p.work.compiled.spec.Name})
	}
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// weigh sums what of a tier is eligible, moves its course, and keeps its table in step.
func (r *Router) weigh(now int64, p *pool, t *tier) {
	var total, eligible float64
	for i := t.from; i < t.to; i++ {
		m := &p.members[i]
		total += m.base
		if p.reason(m) == Pass {
			eligible += m.base
		}
	}
	t.eligible = 0
	if total > 0 {
		t.eligible = eligible / total
	}
	if was := t.course.down; total > 0 && t.course.move(now, t.eligible) != was {
		r.event(Event{Kind: either(was, EventTierUp, EventTierDown), At: now, Workload: p.work.compiled.spec.Name, Name: t.name})
	}
	p.tabulate(t)
}

// reason is a member's standing under the pool's panic rule.
func (p *pool) reason(m *member) Reason {
	if p.panic && m.standing.soft {
		return Pass
	}
	return m.standing.reason
}

// move tells whether the tier is down.
func (c *course) move(now int64, eligible float64) bool {
	switch {
	case eligible < downBelow:
		*c = course{down: true}
	case c.down && eligible < upFrom:
		c.wellAt = 0
	case c.down && c.wellAt == 0:
		c.wellAt = now
	case c.down && now-c.wellAt >= upAfter:
		*c = course{backAt: now}
	}
	return c.down
}

// takes tells whether a tier is open to a request, by its hash while it is coming back.
func (c *course) takes(now int64, hash uint32) bool {
	if c.down {
		return false
	}
	if c.backAt == 0 {
		return true
	}
	back := float64(returnPace*float64(now-c.backAt)) / second
	return float64(hash) < float64(back*(1<<32))
}

// tabulate builds the table anew when a share left it by too much. Who is not eligible
// leaves the table when there are many of them.
func (p *pool) tabulate(t *tier) {
	moved := false
	for i := t.from; i < t.to; i++ {
		m := &p.members[i]
		want := m.share
		if 1-t.eligible > sparse && p.reason(m) != Pass {
			want = 0
		}
		moved = moved || math.Abs(want-m.drawn) >= drift*m.drawn && want != m.drawn
		m.next = want
	}
	if !moved {
		return
	}
	shares := t.shares[:0]
	for i := t.from; i < t.to; i++ {
		m := &p.members[i]
		m.drawn = m.next
		shares = append(shares, m.drawn)
	}
	t.shares = shares
	t.table.Build(shares)
}

// baseShare is the share without a ramp: how often the endpoint is drawn.
func (l *learned) baseShare(now int64) float64 {
	e, o := l.facts.endpoint, &l.facts.orders
	switch {
	case now < o.weightTo:
		return float64(o.weight)
	case e.Weight != Absent:
		return float64(e.Weight)
	case l.word.fresh(now) && l.word.speed > 0:
		return float64(100 * l.word.speed)
	}
	return 100
}

// medianOf is the lower median of what members measured, without those that the fleet
// holds open; 0 when none did.
func (r *Router) medianOf(p *pool) float64 {
	all := r.numbers[:0]
	for i := range p.members {
		m := &p.members[i]
		if a := m.measured(); a.n > 0 && m.heldBy(p.ask.classes) == 0 {
			all = append(all, a.value)
		}
	}
	r.numbers = all
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
