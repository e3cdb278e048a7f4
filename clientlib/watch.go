package clientlib

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
)

// LimitError is why an attempt's context ended: a limit of its workload's attempts passed.
type LimitError struct {
	Limit string // connect, first_token, answer, stall, total
	After time.Duration
}

func (e *LimitError) Error() string { return fmt.Sprintf("limit %s: %v passed", e.Limit, e.After) }

// Timeout makes it a time-out to package net.
func (e *LimitError) Timeout() bool { return true }

// watch ends an attempt's context when one of its limits passes: total from the start,
// and one phase at a time. A caller whose own end comes first ends it: nobody is to blame.
// The zero value bounds nothing.
type watch struct {
	ctx    context.Context
	limits route.Limits
	cancel context.CancelCauseFunc
	clock  clock
	end    int64 // the caller's own, µs

	mu             sync.Mutex // guards what follows
	total, current bound
	timer          *time.Timer
	looksAt        int64 // when the timer ends, µs: never after the earlier of the two
	over           bool
}

// bound is a limit that runs.
type bound struct {
	name string
	from int64
	us   int64
	at   int64 // its end, µs; never: it does not run
}

const never = math.MaxInt64

// sameEnd is how near to the caller's own end a limit is that end: the core cuts limits to it.
const sameEnd = int64(time.Millisecond / time.Microsecond)

// begin starts the time of an attempt. End it with release.
func (w *watch) begin(parent context.Context, k clock, l route.Limits) {
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.limits, w.clock, w.end = l, k, never
	if at := k.deadline(parent); at > 0 {
		w.end = at
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := k.now()
	w.current.at = never
	w.total = w.bound(now, "total", l.Total)
	w.schedule(now)
}

// bound is a limit from now on; one that the caller's own end comes before does not run.
func (w *watch) bound(now int64, name string, us int64) bound {
	b := bound{name, now, us, never}
	if at := now + min(us, never-now); at < w.end-sameEnd {
		b.at = at
	}
	return b
}

// phase bounds what comes next instead of what came before.
func (w *watch) phase(name string, us int64) { w.phaseFrom(w.clock.now(), name, us) }

// phaseFrom does for one who has read the clock.
func (w *watch) phaseFrom(now int64, name string, us int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next(now, name, us)
}

// connected ends the phase of connecting, if it is still on: what is left of the next one's
// time runs from the start.
func (w *watch) connected(name string, us int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current.name == "connect" {
		now := w.clock.now()
		w.next(now, name, max(us-(now-w.current.from), 0))
	}
}

// next is called with the lock held.
func (w *watch) next(now int64, name string, us int64) {
	w.current = w.bound(now, name, us)
	w.schedule(now)
}

// pause bounds nothing but the total, until the next phase.
func (w *watch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = bound{at: never}
}

// schedule has the timer end no later than a limit. It moves only where it must: most
// phases end long before it. It is called with the lock held.
func (w *watch) schedule(now int64) {
	at := min(w.current.at, w.total.at)
	switch {
	case w.over || at == never || w.timer != nil && w.looksAt <= at:
		return
	case w.timer == nil:
		w.timer = time.AfterFunc(microseconds(at-now), w.look)
	default:
		w.timer.Reset(microseconds(at - now))
	}
	w.looksAt = at
}

// look ends the context if a limit has passed. It does so under the lock: whoever ends a
// phase knows whether it was in time.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, first := w.clock.now(), w.current
	if w.total.at < first.at {
		first = w.total
	}
	if now >= first.at {
		w.cancel(&LimitError{first.name, microseconds(first.us)})
		return
	}
	w.looksAt = never
	w.schedule(now)
}

// release ends the context and its time.
func (w *watch) release() {
	w.mu.Lock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.cancel(context.Canceled)
}
