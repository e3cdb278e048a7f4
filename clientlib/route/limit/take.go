package limit

// Acquire takes a request's use of all quotas, or of none: then the answer says why.
func Acquire(now int64, use *Use, quotas ...*Quota) Answer {
	for _, q := range quotas {
		if a := q.Allows(now, use, All); a != Free {
			return a
		}
	}
	for _, q := range quotas {
		q.Take(now, use)
	}
	return Free
}

// All is a ceiling that keeps nothing back.
const All = 100

// Allows tells whether a request may go now, when it may take a bucket or window up to so
// many percent. A request that is larger than what a bucket holds goes into debt, when
// nothing else is owed.
func (q *Quota) Allows(now int64, use *Use, percent int64) Answer {
	if q.marks != 0 {
		return q.looksCloser(now, use, percent)
	}
	for i := range q.at {
		if i >= int(q.n) {
			break
		}
		b, d := &q.at[i], q.kinds[i]
		if b.tat > now && cost(use.of(d), windows[d&7], b.limit) > windows[d&7]/part*percent/All-(b.tat-now) {
			return answers[d]
		}
	}
	return Free
}

// Idle tells whether nothing is owed and all may go; false is no answer.
func (q *Quota) Idle(now int64) bool {
	return q.marks == 0 && q.n <= 3 && max(q.at[0].tat, q.at[1].tat, q.at[2].tat) <= now
}

// looksCloser is Allows where more than buckets counts.
func (q *Quota) looksCloser(now int64, use *Use, percent int64) Answer {
	if q.Cooling(now) {
		return Cooling
	}
	for i := range int(q.n) {
		if d := q.kinds[i]; q.opens(now, i, use.of(d), percent) > now {
			return answers[d]
		}
	}
	return Free
}

// Take takes a request's use, whether it is allowed or not.
func (q *Quota) Take(now int64, use *Use) {
	if q.marks&easing != 0 {
		q.pace(now)
	}
	plain := q.plain(use)
	for i := range q.at {
		if i >= int(q.n) {
			break
		}
		b, d := &q.at[i], q.kinds[i]
		n := use.of(d)
		b.reserved += n
		if plain {
			b.tat = later(max(b.tat, now), b.cost(n, d))
		} else {
			q.spend(now, i, n)
		}
	}
}

// spend is Take of one dimension where not all is plain.
func (q *Quota) spend(now int64, i int, n int64) {
	b, d := &q.at[i], q.kinds[i]
	if q.counts(i) {
		w := &q.more.windows[i]
		w.roll(now, windows[d])
		w.used += n
	}
	limit, _ := q.rate(now, i)
	c := cost(n, windows[d], limit)
	from := now
	if l := q.grant(now, i); l != nil {
		from = min(l.from, l.until-c) // what is unused of it is kept
	}
	b.tat = later(max(b.tat, from), c)
}

// Settle puts what a request used in place of what it reserved at a time. A window that is
// over keeps what was reserved in it.
func (q *Quota) Settle(now, at int64, reserved, used *Use) {
	plain := q.plain(reserved) && q.plain(used)
	for i := range q.at {
		if i >= int(q.n) {
			break
		}
		b, d := &q.at[i], q.kinds[i]
		was, is := reserved.of(d), used.of(d)
		b.reserved = max(b.reserved-was, 0)
		switch {
		case was == is:
		case plain:
			b.correct(b.cost(is, d) - b.cost(was, d))
		default:
			q.resettle(now, at, i, is, was)
		}
	}
}

// resettle is Settle of one dimension where not all is plain.
func (q *Quota) resettle(now, at int64, i int, is, was int64) {
	if q.counts(i) {
		q.more.windows[i].correct(at, is-was)
	}
	limit, _ := q.rate(now, i)
	window := windows[q.kinds[i]&7]
	q.at[i].correct(cost(is, window, limit) - cost(was, window, limit))
}

// correct moves the TAT, back as far as other rules allow.
func (b *bucket) correct(by int64) {
	if by > 0 {
		b.tat = later(b.tat, by)
	} else {
		b.tat = max(b.tat+by, min(b.tat, b.floor))
	}
}

// opens is when a dimension has room for n, as things stand; not later than now: it has.
func (q *Quota) opens(now int64, i int, n, percent int64) int64 {
	b, d := &q.at[i], q.kinds[i]
	limit, burst := q.rate(now, i)
	if limit == 0 {
		return Forever
	}
	if l := q.grant(now, i); l != nil {
		if later(b.tat, cost(n, windows[d], limit)) <= l.until {
			return now
		}
		return l.until
	}
	if q.counts(i) {
		return q.more.windows[i].opens(now, n, limit-gives(limit, All, All-percent), windows[d])
	}
	return min(b.tat, b.tat-burst*percent/All+cost(n, windows[d], limit))
}
