package clientlib

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/pointsman/pointsman/clientlib/route/money"
)

// Tracer follows each call and each of its attempts from begin to end, as spans do. It is
// told on the caller's goroutine and may not block. What it returns is the context to go on
// with, and a function that is called once, at the end; nil: the end is of no interest.
type Tracer interface {
	// Call begins a call. Its context is that of every attempt.
	Call(context.Context, CallInfo) (context.Context, func(CallInfo))
	// Attempt begins an attempt. To the header, if it is not nil, it may add what tells
	// the endpoint of the trace.
	Attempt(context.Context, AttemptInfo, http.Header) (context.Context, func(AttemptInfo))
}

// account is what a call adds up, for those who watch.
type account struct {
	waited   int64 // µs in the queue
	first    int64 // when the first token came, µs; 0: not yet
	endpoint string
	outcome  Outcome // of the last attempt
	usage    Usage
	cost     money.Nano
	traced   func(CallInfo) // nil: nobody follows the call
}

// startCall begins the call's trace.
func (c *Client) startCall(ctx context.Context, call *call) context.Context {
	if c.tracer != nil {
		ctx, call.traced = c.tracer.Call(ctx, c.callInfo(call))
	}
	return ctx
}

// endCall tells that a call has ended, which it does once.
func (c *Client) endCall(call *call, err error) {
	c.refused(call, err)
	c.recordShed(call, err)
	if c.observer == nil && call.traced == nil {
		return
	}
	info := c.callInfo(call)
	info.Total, info.Err = microseconds(c.clock.now()-call.began), c.named(call, err)
	if call.traced != nil {
		call.traced(info)
	}
	if c.observer != nil {
		c.observer.Call(info)
	}
}

// named adds that the workload is none, to an end that came before the router was asked.
func (c *Client) named(call *call, err error) error {
	_, known := c.view.Load().terms.workloads[call.workload]
	if known || err == nil || call.attempts > 0 || errors.Is(err, ErrUnknownWorkload) {
		return err
	}
	return fmt.Errorf("workload %q: %w: %w", text(call.workload), ErrUnknownWorkload, err)
}

// callInfo is what is known of a call now.
func (c *Client) callInfo(call *call) CallInfo {
	info := CallInfo{
		Workload: text(call.workload), Tenant: text(call.request.tenant()), API: call.request.API, Stream: call.request.Stream,
		Started: c.clock.wall(call.began), Attempts: call.attempts, Endpoint: call.endpoint, Waited: microseconds(call.waited),
		Outcome: call.outcome, Usage: call.usage, Cost: call.cost,
	}
	if call.first > 0 {
		info.FirstToken = max(microseconds(call.first-call.began), 1)
	}
	return info
}

// start begins the attempt's trace; h are the headers that will go, nil where they are
// not this library's.
func (f *flight) start(ctx context.Context, h http.Header) context.Context {
	if t := f.client.tracer; t != nil {
		ctx, f.traced = t.Attempt(ctx, f.info, h)
	}
	return ctx
}

// tell tells of the attempt, which has ended, and adds it to its call.
func (f *flight) tell(info *AttemptInfo) {
	a := &f.call.account
	a.endpoint, a.outcome, a.first = info.Endpoint, info.Outcome, f.first.Load()
	a.usage = sum(a.usage, info.Outcome.Usage)
	a.cost = a.cost.Plus(info.Cost)
	if f.traced != nil {
		f.traced(*info)
	}
	if f.client.observer != nil {
		f.client.observer.Attempt(*info)
	}
	f.client.record(f.call, info)
}

func sum(a, b Usage) Usage {
	return Usage{Input: a.Input + b.Input, Cached: a.Cached + b.Cached, Written: a.Written + b.Written, Output: a.Output + b.Output}
}
