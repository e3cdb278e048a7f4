package hub

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// slept ends all streams after a suspend of so many µs; 0: there was none. By a clock that stood still, what comes up them
// would be dated too young (rule 9). What waits to go up has aged by as much.
func (h *Hub) slept(by int64) {
	if by == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.outbox.waiting {
		h.outbox.waiting[i].at -= by
	}
	for _, l := range h.roster.leaves {
		l.heard -= by
	}
	for c := range h.children {
		c.end(status.Error(codes.Unavailable, "this machine was suspended: come in again"), false)
	}
}
