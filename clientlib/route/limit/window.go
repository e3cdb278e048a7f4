package limit

// counter counts by the windows of a provider, once the edge of one is known.
type counter struct {
	edge int64 // when the window ends; 0: not known
	from int64 // since when it counts
	used int64
}

// counts tells whether a dimension goes by its counter.
func (q *Quota) counts(i int) bool {
	return q.marks&fixed != 0 && q.more.windows[i].edge != 0
}

// roll begins the window that time has come to.
func (c *counter) roll(now, window int64) {
	if now >= c.edge {
		*c = counter{c.edge + (now-c.edge)/window*window + window, c.edge + (now-c.edge)/window*window, 0}
	}
}

// opens is when n fit. A window that is untouched takes any request.
func (c counter) opens(now, n, limit, window int64) int64 {
	c.roll(now, window)
	if c.used == 0 || c.used+n <= limit {
		return now
	}
	return c.edge
}

// correct charges the window in which the use was reserved, while it lasts.
func (c *counter) correct(at, by int64) {
	if at >= c.from {
		c.used = max(c.used+by, 0)
	}
}

// learn takes the edge that a provider told. One that is half a window away from what was
// known belongs to another window, of which nothing is counted but what is under way.
func (c *counter) learn(now, edge, window, reserved int64) {
	if c.edge != 0 {
		c.roll(now, window)
	}
	if d := edge - c.edge; c.edge == 0 || d > window/2 || d < -window/2 {
		*c = counter{edge, edge - window, reserved}
		return
	}
	c.edge = edge
}
