package hub

// Figures are counts of a hub, for metrics. Totals only grow.
type Figures struct {
	Children, Relays, Leaves, Views int
	Questions                       int   // that wait for answers
	Oldest                          int64 // µs that the oldest update in flight waits for its ack
	Behind                          int   // tracks of children that hold more than is known here

	Joined, Refused uint64 // streams
	Nacks           uint64
	Dropped         uint64 // reports, or parts of them, that were not passed up
	Totals
}

// Totals are what was sent to children, and to whom it was in vain.
type Totals struct {
	Updates, Bytes uint64
	Stuck          uint64 // streams that were ended for their silence, or for no ack
}

// Figures counts what there is now.
func (h *Hub) Figures() Figures {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.counts
	f.Updates, f.Bytes = h.updates.Load(), h.bytes.Load()
	f.Leaves, f.Views, f.Questions = len(h.roster.leaves), len(h.views), len(h.asked)
	now := h.now()
	for c := range h.children {
		if c.seen == 0 {
			continue
		}
		f.Children++
		if c.relay {
			f.Relays++
		}
		oldest, behind := c.waits(now)
		f.Oldest, f.Behind = max(f.Oldest, oldest), f.Behind+behind
	}
	return f
}

// waits is how long a child's oldest update waits for its ack, and how many of its tracks
// are ahead of what is known here.
func (c *child) waits(now int64) (oldest int64, behind int) {
	for _, s := range c.views {
		for i := range s.lanes {
			l := &s.lanes[i]
			if l.flying != nil {
				oldest = max(oldest, now-l.sent)
			}
			if l.behind {
				behind++
			}
		}
	}
	return oldest, behind
}
