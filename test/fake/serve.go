package fake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"time"
)

// exchange is one request on its way.
type exchange struct {
	endpoint *Endpoint
	way      *way
	w        http.ResponseWriter
	http     *http.Request
	request  *request
	id       string
	fault    Fault
}

func (e *Endpoint) handler() http.Handler {
	mux := http.NewServeMux()
	for i := range ways {
		mux.HandleFunc(ways[i].pattern, func(w http.ResponseWriter, r *http.Request) {
			if e.enter() {
				defer e.handlers.Done()
				(&exchange{endpoint: e, way: &ways[i], w: w, http: r}).run()
			}
		})
	}
	return mux
}

// enter counts a handler in, so that Close can wait for it.
func (e *Endpoint) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.handlers.Add(1)
	}
	return !e.closed
}

func (x *exchange) run() {
	e := x.endpoint
	parseErr := x.read()
	violations := x.violationsOf()
	arrived := e.arrive(violations)
	x.fault, x.id = arrived.fault, fmt.Sprintf("%s-%d", e.config.Name, arrived.number)
	x.w.Header().Set(x.way.customs.requestID, "req-"+x.id)
	x.way.customs.limits(x.w.Header(), arrived.limits)
	a := &answer{exchange: x}
	a.output, a.ending = x.length()
	if e.config.OnRequest != nil {
		e.config.OnRequest(Arrival{
			Endpoint: e.config.Name, Time: arrived.at, Since: arrived.since, Fault: x.fault.Kind, Model: x.request.Model,
			Stream: x.request.Stream, Input: x.request.input(), Output: a.output, Header: x.http.Header,
		})
	}
	switch {
	case x.broken():
		e.count(func(c *Counts) *int { return &c.Faulted }, 1)
	case parseErr != nil:
		x.refuse(problem{http.StatusBadRequest, invalid, "", parseErr.Error()})
	case refusal(violations).status != 0:
		x.refuse(refusal(violations))
	default:
		x.serve(a)
	}
}

// read takes the whole body: net/http sees the caller leave only then.
func (x *exchange) read() error {
	q := &request{}
	x.request = q
	var err error
	if q.body, err = io.ReadAll(http.MaxBytesReader(x.w, x.http.Body, bodyMax)); err != nil {
		return err
	}
	if x.way.format == &plain {
		q.Stream = asksForStream(x.http)
		return nil
	}
	err = json.Unmarshal(q.body, q)
	if model := x.http.PathValue("model"); model != "" {
		q.Model = model
	}
	return err
}

// length is how many tokens will be generated, and why no more.
func (x *exchange) length() (int64, ending) {
	if x.way.format == &embeddings {
		x.request.Stream = false
		return 0, stopped
	}
	output, end := x.request.output()
	if most := int64(x.fault.Tokens); x.fault.Kind == Filter && most < output {
		return most, filtered
	}
	return output, end
}

// broken answers, or does not, as the fault says, and reports whether the request is done with.
func (x *exchange) broken() bool {
	f := x.fault
	switch f.Kind {
	case Fail:
		x.fail(problem{http.StatusInternalServerError, "server_error", "", "The server had an error while processing your request."})
	case Hang:
		<-x.http.Context().Done()
	case Throttle:
		x.retryAfter(cmp.Or(f.Delay, defaultRetry))
		x.fail(problem{http.StatusTooManyRequests, "requests", "rate_limit_exceeded", "Rate limit reached."})
	case Limit:
		x.fail(problem{http.StatusTooManyRequests, "requests", "rate_limit_exceeded", "Rate limit reached."})
	case Overload:
		if f.Delay > 0 {
			x.retryAfter(f.Delay)
		}
		x.overloaded()
	case Reset:
		reset(x.w)
	case TooLong:
		x.fail(problem{http.StatusBadRequest, invalid, "context_length_exceeded", "This model's maximum context length is exceeded."})
	case Refuse:
		x.fail(problem{http.StatusBadRequest, invalid, "unsupported_parameter", "This is not supported here."})
	case Filter:
		if f.Tokens > 0 || x.way.customs.politely {
			return false
		}
		x.fail(problem{http.StatusBadRequest, invalid, "content_policy_violation", "The request was rejected by the usage policy."})
	default:
		return false
	}
	return true
}

func (x *exchange) retryAfter(wait time.Duration) {
	x.w.Header().Set("Retry-After", seconds(wait))
	x.w.Header().Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds(), 10))
}

func (x *exchange) overloaded() {
	x.fail(problem{x.way.customs.overload, "service_unavailable_error", "server_is_overloaded", "The endpoint is overloaded. Please retry later."})
}

func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// reset closes the connection so that the caller sees it reset, not ended.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // net/http's own way to cut a connection
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it ends instead: as bad for the caller
	}
	conn.Close()
}

func (x *exchange) refuse(p problem) {
	x.endpoint.count(func(c *Counts) *int { return &c.Refused }, 1)
	x.fail(p)
}

var (
	errFull    = errors.New("the queue is full")
	errCut     = errors.New("cut by a fault")
	errUnended = errors.New("ended by a fault")
)

// serve waits for a slot and answers.
func (x *exchange) serve(a *answer) {
	e, ctx := x.endpoint, x.http.Context()
	err := e.take(ctx)
	if err == nil {
		err = a.write(ctx)
		e.give()
	}
	switch {
	case err == nil:
		e.count(func(c *Counts) *int { return &c.Answered }, 1)
	case errors.Is(err, errFull):
		e.count(func(c *Counts) *int { return &c.Full }, 1)
		x.overloaded()
	case errors.Is(err, errCut):
		e.count(func(c *Counts) *int { return &c.Faulted }, 1)
		panic(http.ErrAbortHandler) // the only way to end a body without its end
	case errors.Is(err, errUnended):
		e.count(func(c *Counts) *int { return &c.Faulted }, 1)
	default:
		e.count(func(c *Counts) *int { return &c.Gone }, 1)
	}
}

// take waits for a slot, first come first served.
func (e *Endpoint) take(ctx context.Context) error {
	e.mu.Lock()
	if e.counts.Queued >= e.config.Queue {
		e.mu.Unlock()
		return errFull
	}
	e.counts.Queued++
	e.mu.Unlock()
	var err error
	select {
	case e.slots <- struct{}{}:
	case <-ctx.Done():
		err = ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.Queued--
	if err == nil {
		e.counts.InFlight++
	}
	return err
}

func (e *Endpoint) give() {
	e.count(func(c *Counts) *int { return &c.InFlight }, -1)
	<-e.slots
}

// pause waits for d, or for ctx's end.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// paced is how long d takes at the endpoint's speed.
func (e *Endpoint) paced(d time.Duration) time.Duration {
	return time.Duration(float64(d) / e.config.Speed)
}
