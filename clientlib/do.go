package clientlib

import (
	"context"
	"errors"
	"fmt"

	"github.com/pointsman/pointsman/clientlib/route"
)

// Do makes the attempts of one call: send is called with each until one is served or no
// other is due. Its context ends when a limit of the workload's attempts passes
// (context.Cause is a *LimitError then), or with ctx.
//
// What send returns says how the attempt ended, unless it settled the attempt itself,
// which it does to tell usage:
//
//	nil              served
//	a *Fault         as its outcome says
//	any other error  cancelled if ctx has ended, timed out if a limit has passed, else faulted
//
// A streamed attempt is bounded by its first token until send calls FirstToken, then by
// stalls, each call of Content starting a new one. Content also says that the caller
// has seen part of the answer: no other attempt follows. A panic in send abandons the
// attempt and goes on.
//
// While all that could take the call is limited or full, or its tenant at its cap, it waits
// for its turn, as Config.Queue and QueueWait say, if ctx's deadline allows.
//
// Do's error is that of the last attempt, unless that was only refused (Refused, TooLong,
// Missing) where an earlier one had failed: then it is the earlier one's. If others were due
// but could not be made, it is an *EndError too. Without any attempt it is a *ShedError, or why the workload cannot be routed.
func Do[T any](ctx context.Context, w *Workload, r Request, send func(context.Context, Attempt) (T, error)) (T, error) {
	var answer, none T
	err := w.client.do(ctx, w.name, r, func(ctx context.Context, a Attempt) (err error) {
		answer, err = send(ctx, a)
		return err
	})
	if err != nil {
		return none, err
	}
	return answer, nil
}

// errPanic is what a call ended in whose code panicked.
var errPanic = errors.New("the caller's code panicked")

func (c *Client) do(ctx context.Context, workload string, r Request, send func(context.Context, Attempt) error) error {
	call := c.begin(workload, r, c.clock.deadline(ctx))
	ctx = c.startCall(ctx, &call)
	err := errPanic
	defer func() { c.endCall(&call, err) }()
	err = c.attempts(ctx, &call, send)
	return err
}

// attempts makes them until one is served.
func (c *Client) attempts(ctx context.Context, call *call, send func(context.Context, Attempt) error) error {
	var kept error // the failure that the caller is told of
	for {
		step, err := c.next(ctx, call)
		if err != nil {
			return ending(kept, err)
		}
		f := &flight{}
		f.take(c, call, step)
		err = f.try(ctx, step.Limits, send)
		if err == nil {
			return nil
		}
		if kept == nil || !call.hides() {
			kept = err
		}
	}
}

// try makes one attempt, panics included. It returns when the attempt has been told of,
// whoever settled it.
func (f *flight) try(parent context.Context, limits route.Limits, send func(context.Context, Attempt) error) error {
	w, a := &f.watch, Attempt{f}
	w.begin(parent, f.client.clock, limits)
	defer w.release()
	defer f.told.Wait()
	defer a.Abandon()
	if f.stall {
		w.phase("first_token", limits.FirstToken)
	} else {
		w.phase("answer", limits.Answer)
	}
	err := send(f.start(w.ctx, nil), a)
	if !f.ended.Load() {
		a.Settle(judge(parent, w, err))
	}
	return err
}

// judge is the outcome of an attempt that returned err.
func judge(parent context.Context, w *watch, err error) Outcome {
	var fault *Fault
	var limit *LimitError
	switch {
	case err == nil:
		return Outcome{Kind: Served}
	case errors.As(err, &fault):
		return fault.Outcome
	case parent.Err() != nil:
		return Outcome{Kind: Cancelled}
	case errors.As(context.Cause(w.ctx), &limit):
		return Outcome{Kind: TimedOut, Detail: limit.Limit}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Outcome{Kind: Cancelled, Detail: "by the caller's own bound"}
	}
	return Outcome{Kind: Faulted, Detail: fmt.Sprintf("%.80T", err)}
}

// ending is what a call fails with that would be told of last.
func ending(last, err error) error {
	var end *EndError
	switch {
	case last == nil:
		return err
	case errors.As(err, &end) && (end.Why == route.EndDone || end.Why == route.EndContent):
		return last
	}
	return fmt.Errorf("%w: %w", err, last)
}
