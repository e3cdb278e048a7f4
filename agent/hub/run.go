package hub

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/wire"
)

// Run serves until ctx ends, tells children to go elsewhere, and waits for all it started.
func (h *Hub) Run(ctx context.Context) error {
	swept := h.now()
	clocks := wire.Clocks{Wall: h.config.Wall(), Mono: swept}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			h.stop()
			return nil
		case <-h.wake:
		case <-timer.C:
		}
		now := h.now()
		h.slept(clocks.Jump(h.config.Wall(), now))
		h.ask(now)
		if now-swept >= us(sweepEach) {
			swept = now
			h.sweep(now)
		}
		next := min(h.settle(now), h.flush(now), h.expire(now), swept+us(sweepEach))
		timer.Reset(time.Duration(next-now) * time.Microsecond)
	}
}

// stop says goodbye, waits a little, ends what is left, and passes up what they said last.
func (h *Hub) stop() {
	h.Goodbye("stopping")
	late := time.AfterFunc(stopWithin, h.endAll)
	defer late.Stop()
	h.wg.Wait()
	h.flush(h.now())
}

func (h *Hub) endAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.children {
		c.end(status.Error(codes.Unavailable, "stopping"), false)
	}
}

// sweep ends streams that are stuck, forgets leaves that were lost, and says what was
// turned away.
func (h *Hub) sweep(now int64) {
	h.mu.Lock()
	defer h.unlock()
	for c := range h.children {
		c.remind(now)
		if err := c.late(now); err != nil {
			h.counts.Stuck++
			c.end(err, false)
		}
	}
	h.roster.forget(now)
	h.tell(Refused, "streams", &h.refused)
	h.tell(Dropped, "reports", &h.dropped)
}

// tell says what was turned away, once for all of it.
func (h *Hub) tell(k EventKind, what string, t *tally) {
	if t.count > 0 {
		h.events = append(h.events, Event{Kind: k, Detail: fmt.Sprintf("%d %s, the last: %s", t.count, what, t.last)})
		*t = tally{}
	}
}

// Publish takes the newest state of a track of a view. News is level-triggered: what a
// child has not been sent yet is replaced. It waits for more: protocol.md, rule 11.
func (h *Hub) Publish(v View, s *wire.State) { h.offer(v, s, false) }

// PublishUrgent is Publish without the wait: a breaker opened, or a parent waited already.
func (h *Hub) PublishUrgent(v View, s *wire.State) { h.offer(v, s, true) }

func (h *Hub) offer(v View, s *wire.State, urgent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	view := h.views[v.Key()]
	if view == nil || view.track(s.Track()) == nil {
		return // dropped meanwhile, or nobody's business
	}
	view.track(s.Track()).offer(h.now(), s, urgent)
	h.poke()
}

// installation is a state that is due.
type installation struct {
	view  *view
	track *track
	old   *wire.State
	next  *wire.State
}

// settle installs the states that are due, and says when the next will be. Run alone
// calls it, so that no other state comes in while it compares two without the lock.
func (h *Hub) settle(now int64) (next int64) {
	ready, next := h.ready(now)
	for _, in := range ready {
		changes := differences(in.old, in.next)
		h.mu.Lock()
		if in.track.install(in.next, changes) {
			in.view.mark(in.track)
		}
		h.mu.Unlock()
	}
	return next
}

func (h *Hub) ready(now int64) (ready []installation, next int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next = never
	for _, v := range h.views {
		for _, t := range v.tracks {
			if t.next == nil {
				continue
			}
			if due := t.due(); due > now {
				next = min(next, due)
				continue
			}
			ready = append(ready, installation{v, t, t.state, t.next})
		}
	}
	return ready, next
}
