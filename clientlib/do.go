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
// Do's error is that of the last attempt; if others were due but could not be made, an
// *EndError too. Without any attempt it is a *ShedError, or why the workload cannot be routed.
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

func (c *Client) do(ctx context.Context, workload string, r Request, send func(context.Context, Attempt) error) error {
	call := c.begin(workload, r, c.clock.deadline(ctx))
	var last error
	for {
		step, err := c.next(ctx, call)
		if err != nil {
			return ending(last, err)
		}
		f := c.take(call, step, c.clock.now())
		if last = f.try(ctx, newWatch(ctx, step.Limits), send); last == nil {
			return nil
		}
	}
}

// try makes one attempt, panics included.
func (f *flight) try(parent context.Context, w *watch, send func(context.Context, Attempt) error) error {
	defer w.release()
	f.watch = w
	if f.stall {
		w.phase("first_token", w.limits.FirstToken)
	} else {
		w.phase("answer", w.limits.Answer)
	}
	a := Attempt{f}
	defer a.Abandon()
	err := send(w.ctx, a)
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

// ending is what a call fails with whose last attempt failed with last.
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
