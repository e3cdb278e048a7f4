package limit

const (
	holds = 600 * second // what a process that is cut off keeps its leases for
	falls = 600 * second // and then takes to come down to its safe share
	lasts = 10 * second  // a lease: so long the first one may take to come back
)

// Lease is this process's part of one dimension of a limit.
type Lease struct {
	Rate  int64 // in a window
	Safe  int64 // in a window: what is left when nobody renews it, without end
	From  int64 // µs
	Until int64
}

type lease struct {
	rate, safe, from, until int64
	grant                   bool
}

func (l *lease) on() bool { return l.until != 0 }

// small is a lease of less than this in a second: as a rate it would let every process
// of many into debt at once. It is a grant instead: what it gives until its end may be taken
// at any time before, once.
var small = [Dimensions]int64{1, 1000, 1000, 1000, 1}

// Lease takes this process's part of a dimension. What has no limit has no part.
func (q *Quota) Lease(now int64, d Dimension, v Lease) {
	i, ok := q.index(d)
	if !ok || v.Until <= now || v.Rate < 0 {
		return
	}
	if q.more == nil {
		q.more = &more{}
	}
	l, b := &q.more.leases[i], &q.at[i]
	starts := !l.on() || v.From > l.until || v.Rate > l.rate
	*l = lease{v.Rate, max(v.Safe, 0), max(v.From, now-windows[d]), v.Until, gives(second, windows[d], v.Rate) < small[d]}
	q.marks |= leased
	if !starts {
		return
	}
	empty := now + second
	if l.grant {
		empty, l.from = now, max(l.from, now)
	}
	b.tat, b.floor = max(b.tat, empty), max(b.floor, empty)
}

// Cut says that nobody renews leases from now on, or that somebody does again: what is held
// then lasts until it can have been renewed.
func (q *Quota) Cut(now int64, cut bool) {
	switch {
	case cut && q.cutAt == 0:
		q.cutAt = max(now, 1)
	case !cut && q.cutAt != 0:
		for i := range int(q.n) {
			if l := q.held(i); l != nil && l.until >= q.cutAt {
				l.rate, l.until = l.at(now, q.cutAt, q.hold), max(l.until, now+lasts)
			}
		}
		q.cutAt = 0
	}
}

// held is the lease of a dimension, or nil.
func (q *Quota) held(i int) *lease {
	if q.marks&leased == 0 || !q.more.leases[i].on() {
		return nil
	}
	return &q.more.leases[i]
}

// rate is a dimension's limit and how much of it, in time, a bucket holds.
func (q *Quota) rate(now int64, i int) (limit, burst int64) {
	b, l := &q.at[i], q.held(i)
	if l == nil {
		return b.limit, windows[q.kinds[i]] / part
	}
	return min(b.limit, l.at(now, q.cutAt, q.hold)), second
}

// at is what is left of a lease: all until its end; then the safe share, at once when
// others may have it now, slowly when nobody could give it to them.
func (l *lease) at(now, cutAt int64, hold bool) int64 {
	if now < l.until {
		return l.rate
	}
	if cutAt == 0 || cutAt > l.until {
		return l.safe
	}
	age := now - cutAt - holds
	switch {
	case hold || age <= 0:
		return l.rate
	case age >= falls:
		return l.safe
	}
	return l.rate - gives(age, falls, max(l.rate-l.safe, 0))
}

// grant is a lease that is one and has not ended.
func (q *Quota) grant(now int64, i int) *lease {
	if l := q.held(i); l != nil && l.grant && now < l.until {
		return l
	}
	return nil
}
