package clientlib

import (
	"context"
	"fmt"
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
type watch struct {
	ctx    context.Context
	limits route.Limits
	cancel context.CancelCauseFunc
	total  *time.Timer // nil: none

	mu      sync.Mutex  // guards what follows
	current *time.Timer // nil: none
	phases  int         // that have begun or ended: a timer that comes late finds another number
	over    bool
}

func newWatch(parent context.Context, l route.Limits) *watch {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watch{ctx: ctx, limits: l, cancel: cancel}
	w.total = w.limit("total", l.Total, cancel)
	return w
}

// sameEnd is how near to the caller's own end a limit is that end: the core cuts limits to it.
const sameEnd = time.Millisecond

// limit says in so many µs that it has passed; nil if the caller's own end comes first.
func (w *watch) limit(name string, us int64, passed func(error)) *time.Timer {
	after := microseconds(us)
	if end, ok := w.ctx.Deadline(); ok && time.Until(end) <= after+sameEnd {
		return nil
	}
	return time.AfterFunc(after, func() { passed(&LimitError{name, after}) })
}

// phase bounds what comes next instead of what came before.
func (w *watch) phase(name string, us int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
	if !w.over {
		number := w.phases
		w.current = w.limit(name, us, func(err error) { w.passed(number, err) })
	}
}

// passed ends the context, if the phase has not ended meanwhile. It does so under the
// lock: whoever ends a phase knows whether it was in time.
func (w *watch) passed(number int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if number == w.phases {
		w.cancel(err)
	}
}

// pause bounds nothing but the total, until the next phase.
func (w *watch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
}

// stop ends the current phase. It is called with the lock held.
func (w *watch) stop() {
	w.phases++
	if w.current != nil {
		w.current.Stop()
	}
}

// release ends the context and every timer.
func (w *watch) release() {
	w.mu.Lock()
	w.over = true
	w.stop()
	w.mu.Unlock()
	if w.total != nil {
		w.total.Stop()
	}
	w.cancel(context.Canceled)
}
