package sim

import (
	"errors"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

const (
	firstPause = second / 2  // SDKPause that is not said
	mostPause  = 8 * second  // of its doubling
	mostShed   = 60 * second // a longer Retry-After is not waited for
)

// fail is the library's error to its caller, whose SDK may make the call anew.
func (c *call) fail(err error) {
	out := &measure.Call{}
	shed, isShed := errors.AsType[*route.ShedError](err)
	end, isEnd := errors.AsType[*route.EndError](err)
	switch {
	case isShed:
		out.Shed = shed.Kind.String()
		c.refused(err)
	case isEnd && end.Attempts > 0:
		out.Failure = c.failure.String()
	case isEnd:
		out.Failure = route.TimedOut.String() // the workload's total, in the queue
	default:
		c.world.err = err
		return
	}
	if !c.anew(err) {
		c.over(out)
	}
}

// refused is counted for the next report.
func (c *call) refused(err error) {
	if shed, ok := errors.AsType[*route.ShedError](err); ok {
		c.client.router.Refused(c.arrival.Workload, shed.Kind)
	}
}

// anew has the SDK make the call once more, after a pause: a failure that may pass, of which
// nothing has reached the application; and a shed, once it may have ended, as Retry-After says.
// It does not when the caller has gone by then.
func (c *call) anew(err error) bool {
	w := c.world
	if c.again >= w.Callers.SDKRetries {
		return false
	}
	pause := w.Callers.SDKPause
	if pause == 0 {
		pause = firstPause
	}
	pause = min(pause<<min(c.again, 16), max(mostPause, pause))
	chance := stream(w.seed^uint64(c.arrival.Chance), forCallers, uint64(c.again))
	at := w.now + pause/2 + chance.within(pause/2+1)
	if shed, ok := errors.AsType[*route.ShedError](err); ok {
		if !passes(shed.Kind) || shed.RetryAt == 0 || shed.RetryAt > w.now+mostShed {
			return false
		}
		at = max(at, shed.RetryAt)
	}
	if end, ok := errors.AsType[*route.EndError](err); ok && (end.Why == route.EndContent || !transient(c.failure)) {
		return false
	}
	if at >= c.end {
		return false
	}
	c.again++
	c.failure = route.Abandoned
	c.wait(resting, at)
	return true
}

// passes tells whether a shed may end by itself.
func passes(k route.ShedKind) bool { return k != route.ShedIncompatible && k != route.ShedTenant }

// transient tells whether an SDK makes a call anew after such a failure.
func transient(k route.OutcomeKind) bool {
	return k == route.Faulted || k == route.TimedOut || k == route.Limited
}

func (c *call) asker() measure.Asker {
	return measure.Asker{Workload: c.arrival.Workload, Tenant: c.arrival.Tenant}
}

// over is the end of the call.
func (c *call) over(out *measure.Call) {
	w, a := c.world, &c.arrival
	out.At, out.End, out.Asker = a.At, w.now, c.asker()
	out.Sent, out.Attempts, out.Input = c.at, c.made, a.Input
	if out.First = c.firstAt; out.Served && (!c.sees() || out.First == 0) {
		out.First = w.now
	}
	if out.Served {
		out.Alone = w.alone.time(c)
	}
	w.recorder.Call(out)
	c.phase, c.why = ended, nil
	w.calls.live--
	w.calls.free = append(w.calls.free, c)
}
