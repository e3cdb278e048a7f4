package limit

// Until is when a request may go, as things stand: now when it may now, Forever when it
// never may. The percent are those of Allows.
func (q *Quota) Until(now int64, use *Use, percent int64) int64 {
	at := now
	if q.marks&easing != 0 {
		at = q.OpensAt(now)
	}
	for i := range int(q.n) {
		at = max(at, q.opens(now, i, use.of(q.kinds[i]), percent))
	}
	return at
}

// Declared is what a dimension was declared to give in a window; Absent: it has no limit.
func (q *Quota) Declared(d Dimension) int64 {
	if i, ok := q.index(d); ok {
		return q.at[i].limit
	}
	return Absent
}

// Limit is what a dimension gives in a window now; Absent: it has no limit.
func (q *Quota) Limit(now int64, d Dimension) int64 {
	i, ok := q.index(d)
	if !ok {
		return Absent
	}
	limit, _ := q.rate(now, i)
	return limit
}

// Remaining is how much of a dimension could be taken now without debt; without a limit,
// Forever.
func (q *Quota) Remaining(now int64, d Dimension) int64 {
	i, ok := q.index(d)
	if !ok {
		return Forever
	}
	b := &q.at[i]
	limit, burst := q.rate(now, i)
	if l := q.grant(now, i); l != nil {
		return gives(l.until-max(b.tat, l.from), windows[d], limit)
	}
	if q.counts(i) {
		w := q.more.windows[i]
		w.roll(now, windows[d])
		return max(limit-w.used, 0)
	}
	return gives(burst-max(b.tat-now, 0), windows[d], limit)
}

// Reset is how long a dimension takes to be full again when nothing more is taken, µs.
func (q *Quota) Reset(now int64, d Dimension) int64 {
	i, ok := q.index(d)
	if !ok {
		return 0
	}
	if q.counts(i) {
		w := q.more.windows[i]
		w.roll(now, windows[d])
		return w.edge - now
	}
	return max(q.at[i].tat-now, 0)
}

// Headroom is the part that is free of what could be, 0 to 1: the least of all dimensions.
func (q *Quota) Headroom(now int64) float64 {
	least := 1.0
	for i := range int(q.n) {
		least = min(least, q.headroom(now, i))
	}
	return least
}

func (q *Quota) headroom(now int64, i int) float64 {
	b, d := &q.at[i], q.kinds[i]
	limit, burst := q.rate(now, i)
	switch {
	case limit == 0:
		return 0
	case q.counts(i):
		w := q.more.windows[i]
		w.roll(now, windows[d])
		return max(float64(limit-w.used)/float64(limit), 0)
	case b.tat <= now:
		return 1
	}
	return max(float64(burst-(b.tat-now))/float64(burst), 0)
}
