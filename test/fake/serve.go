package fake

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"time"
)

func (e *Endpoint) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		if e.enter() {
			defer e.handlers.Done()
			e.chat(w, r)
		}
	})
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

func (e *Endpoint) chat(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	body, parseErr := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax)) // whole: net/http sees the caller leave only then
	if parseErr == nil {
		parseErr = json.Unmarshal(body, &q)
	}
	violations := e.violationsOf(r.Header, &q)
	fault, now, since := e.arrive(violations)
	output, cut := q.output()
	if e.config.OnRequest != nil {
		e.config.OnRequest(Arrival{
			Endpoint: e.config.Name, Time: now, Since: since, Fault: fault.Kind, Model: q.Model,
			Stream: q.Stream, Input: q.input(), Output: output, Header: r.Header,
		})
	}
	switch {
	case e.broken(w, r, fault):
		e.count(func(c *Counts) *int { return &c.Faulted }, 1)
	case parseErr != nil:
		e.refuse(w, problem{http.StatusBadRequest, "invalid_request_error", "", parseErr.Error()})
	case refusal(violations).status != 0:
		e.refuse(w, refusal(violations))
	default:
		e.serve(w, r, &answer{request: &q, output: output, limited: cut, fault: fault, endpoint: e})
	}
}

// broken answers, or does not, as the fault says, and reports whether the request is done with.
func (e *Endpoint) broken(w http.ResponseWriter, r *http.Request, f Fault) bool {
	switch f.Kind {
	case Fail:
		problem{http.StatusInternalServerError, "server_error", "", "The server had an error while processing your request."}.write(w)
	case Hang:
		<-r.Context().Done()
	case Throttle:
		wait := orDefault(f.Delay, defaultRetry)
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds(), 10))
		problem{http.StatusTooManyRequests, "requests", "rate_limit_exceeded", "Rate limit reached. Please try again in " + wait.String() + "."}.write(w)
	case Reset:
		reset(w)
	default:
		return false
	}
	return true
}

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

func (e *Endpoint) refuse(w http.ResponseWriter, p problem) {
	e.count(func(c *Counts) *int { return &c.Refused }, 1)
	p.write(w)
}

var (
	errFull = errors.New("the queue is full")
	errCut  = errors.New("cut by a fault")
)

// serve waits for a slot and answers.
func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request, a *answer) {
	err := e.take(r.Context())
	if err == nil {
		err = a.write(r.Context(), w)
		e.give()
	}
	switch {
	case err == nil:
		e.count(func(c *Counts) *int { return &c.Answered }, 1)
	case errors.Is(err, errFull):
		e.count(func(c *Counts) *int { return &c.Full }, 1)
		problem{http.StatusServiceUnavailable, "service_unavailable_error", "server_is_overloaded", "The queue is full. Please retry later."}.write(w)
	case errors.Is(err, errCut):
		e.count(func(c *Counts) *int { return &c.Faulted }, 1)
		panic(http.ErrAbortHandler) // the only way to end a body without its end
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
