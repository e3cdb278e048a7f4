package clientlib

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// What attempts and calls end in, as the core has it.
type (
	Outcome     = route.Outcome
	OutcomeKind = route.OutcomeKind
	Usage       = money.Usage
	ShedError   = route.ShedError
	EndError    = route.EndError
)

// The kinds of outcome.
const (
	Abandoned    = route.Abandoned
	Served       = route.Served
	Faulted      = route.Faulted
	TimedOut     = route.TimedOut
	Limited      = route.Limited
	Unauthorized = route.Unauthorized
	Missing      = route.Missing
	TooLong      = route.TooLong
	Filtered     = route.Filtered
	Refused      = route.Refused
	Cancelled    = route.Cancelled
	Invalid      = route.Invalid
	Unsent       = route.Unsent
)

// What errors of this package are, by errors.Is.
var (
	ErrShed            = route.ErrShed            // no endpoint could take the call: see *ShedError
	ErrEnded           = route.ErrEnded           // no further attempt: see *EndError
	ErrUnknownWorkload = route.ErrUnknownWorkload // the catalog has no such workload
	ErrUnusable        = route.ErrUnusable        // this library cannot route it
	ErrRequest         = route.ErrRequest         // a number of it cannot be
)

// Request is what a call needs. The zero value is a plain call of unknown size.
type Request struct {
	Tenant    string   // empty: "default"
	API       string   // what the caller sends; empty: any of the workload's
	Needs     []string // capabilities, beside those of the workload's contract
	Stream    bool
	Input     int64  // tokens of the prompt, estimated
	MaxOutput int64  // tokens; 0: not said
	Session   string // for workloads that keep a session where it was
	Prefix    string // how the prompt begins, for those that keep prompts where they were; 4 KiB of it count

	attempts int64 // at most; 0: as many as the workload allows
}

func (r Request) core(deadline int64) route.Request {
	return route.Request{
		Tenant: r.Tenant, API: r.API, Needs: r.Needs, Stream: r.Stream,
		Session: r.Session, Prefix: r.Prefix, Input: r.Input, MaxOutput: r.MaxOutput, Deadline: deadline, Attempts: r.attempts,
	}
}

// Workload is what callers ask for by name.
type Workload struct {
	client *Client
	name   string
}

// Name is the workload's.
func (w *Workload) Name() string { return w.name }

// call is one request on its way.
type call struct {
	core     route.Call
	workload string
	request  Request
	began    int64 // µs
	attempts int
	tried    string       // endpoints
	decision route.Record // of the latest attempt, when somebody watches
	recorded uint64       // its number in records; 0: nothing of it was recorded
	account
}

// begin needs no lock: a call that begins is nothing of the router's yet.
func (c *Client) begin(workload string, r Request, deadline int64) call {
	now := c.clock.now()
	return call{core: c.router.Begin(now, workload, r.core(deadline)), workload: workload, request: r, began: now}
}

// Pick takes an attempt at once, or fails with a *ShedError that says when to try again.
// It never waits. The caller sends, within limits of its own, and ends the attempt:
//
//	a, err := chat.Pick(clientlib.Request{Tenant: "acme", Input: 1200})
//	if err != nil { … }
//	defer a.Abandon()
func (w *Workload) Pick(r Request) (Attempt, error) {
	c := w.client
	r.attempts = 1 // so that a probe goes to who can try elsewhere, if anybody can
	call := c.begin(w.name, r, 0)
	ctx := c.startCall(context.Background(), &call)
	s := c.step(&call)
	if s.Kind == route.Send {
		f := &flight{picked: true}
		f.take(c, &call, s)
		f.start(ctx, nil)
		return Attempt{f}, nil
	}
	if s.Kind == route.Wait {
		s.Err = errors.New("bug: a first step that waits")
	}
	c.endCall(&call, s.Err)
	return Attempt{}, s.Err
}

// hides says whether the last attempt ended in what another endpoint has against the
// request, which is none of the caller's business where an earlier one failed.
func (c *call) hides() bool {
	switch c.core.Last().Kind {
	case Refused, TooLong, Missing:
		return c.attempts > 1
	}
	return false
}

// minWait keeps a wait that is over already from spinning.
const minWait = time.Millisecond

// next is the call's next attempt, after the waits that the core asks for and those for
// others. Without one its error is the core's, or why ctx ended.
func (c *Client) next(ctx context.Context, call *call) (route.Step, error) {
	for {
		if ctx.Err() != nil {
			return route.Step{}, context.Cause(ctx)
		}
		s, err := c.advance(ctx, call)
		switch {
		case err != nil:
			return s, err
		case s.Kind == route.Send:
			return s, nil
		case s.Kind == route.Fail:
			return s, s.Err
		}
		if err = sleep(ctx, max(microseconds(s.Until-c.clock.now()), minWait)); err != nil {
			return s, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Fault is an error that says how an attempt ended.
type Fault struct {
	Outcome Outcome
	Err     error
}

func (f *Fault) Error() string {
	if f.Err == nil {
		return f.Outcome.Kind.String()
	}
	return fmt.Sprintf("%v: %v", f.Outcome.Kind, f.Err)
}

// Unwrap is the error behind it.
func (f *Fault) Unwrap() error { return f.Err }
