package limit

const fresh = 2 * second // old, what a provider told of remaining room counts no more as good news

// Headers are what a provider's response said of its limits. The zero value says nothing.
type Headers struct {
	At int64 // since when it may have been true: when the request was sent
	Of [Dimensions]Header
}

// Header is what it said of one dimension.
type Header struct {
	HasRemaining bool
	HasReset     bool
	Remaining    int64
	Reset        int64 // µs from then
}

// Headers takes what a provider told; the draw spreads those who come back together. It
// tells whether a cooldown began.
func (q *Quota) Headers(now int64, draw uint32, h *Headers) (began bool) {
	for i := range int(q.n) {
		d := q.kinds[i]
		told := &h.Of[d]
		reset := min(max(told.Reset, 0), windows[d])
		if q.marks&fixed != 0 && told.HasReset && reset > 0 {
			q.more.windows[i].learn(now, now+reset, windows[d], q.at[i].reserved)
		}
		if !told.HasRemaining {
			continue
		}
		q.hear(now, h.At, i, max(told.Remaining, 0))
		if told.Remaining <= 0 && told.HasReset {
			began = q.exhausted(now, i, draw, reset) || began
		}
	}
	return began
}

// hear moves a dimension to what was left of it at a time.
func (q *Quota) hear(now, at int64, i int, left int64) {
	b, d := &q.at[i], q.kinds[i]
	limit, burst := q.rate(now, i)
	lower := now-at < fresh && q.held(i) == nil
	if q.counts(i) {
		q.more.windows[i].hear(max(limit-left, 0), b.reserved, lower)
		return
	}
	floor := now + burst - min(cost(left, windows[d], limit), windows[d])
	if lower { // requests under way may not be counted there yet
		b.tat = min(b.tat, later(floor, cost(b.reserved, windows[d], limit)))
		b.floor = floor
	}
	b.tat, b.floor = max(b.tat, floor), max(b.floor, floor)
}

func (c *counter) hear(used, reserved int64, lower bool) {
	if lower {
		c.used = min(c.used, used+reserved)
	}
	c.used = max(c.used, used)
}

// exhausted keeps a dimension shut until its reset. A window opens for all at once.
func (q *Quota) exhausted(now int64, i int, draw uint32, reset int64) (began bool) {
	b := &q.at[i]
	b.tat, b.floor = max(b.tat, now+reset), max(b.floor, now+reset)
	return q.marks&fixed != 0 && q.cool(now, draw, reset)
}
