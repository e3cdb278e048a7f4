package fake

import (
	"maps"
	"net"
	"net/http"
	"slices"
	"time"
)

// Counts are since the endpoint started; Connections, Queued and InFlight are of now.
type Counts struct {
	Requests      int            // all
	Connections   int            // open
	Queued        int            // waiting for a slot
	InFlight      int            // in a slot
	Answered      int            // to the end
	Faulted       int            // spoiled by a fault
	Refused       int            // by a 4xx that no fault made
	Full          int            // refused with 503: the queue was full
	Gone          int            // the client left first
	Violated      int            // requests with at least one violation
	Violations    map[string]int // by reason
	Input, Output int64          // tokens of answers of which any were sent to be read, or told of: of their prompts, and of them
}

// Violation is a request that should never have come here.
type Violation struct {
	Time   time.Time
	Reason string // model, key, version, header, capability, context_window, max_output
	Detail string
}

// Counts returns a copy of the counts.
func (e *Endpoint) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.counts
	c.Violations = maps.Clone(c.Violations)
	return c
}

// Violations returns the first hundred.
func (e *Endpoint) Violations() []Violation {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.violations)
}

// count adds one, or takes one away, under the lock.
func (e *Endpoint) count(field func(*Counts) *int, by int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	*field(&e.counts) += by
}

// arrival is what a request meets.
type arrival struct {
	fault  Fault
	number int // of the request, from 1
	limits Limits
	at     time.Time
	since  time.Duration // the timeline's start
}

// arrive counts a request with its violations.
func (e *Endpoint) arrive(violations []Violation) arrival {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.counts.Requests++
	if len(violations) > 0 {
		e.counts.Violated++
	}
	for _, v := range violations {
		if e.counts.Violations == nil {
			e.counts.Violations = map[string]int{}
		}
		e.counts.Violations[v.Reason]++
		if v.Time = now; len(e.violations) < violationsMax {
			e.violations = append(e.violations, v)
		}
	}
	since := now.Sub(e.start)
	return arrival{fault: e.meet(since), number: e.counts.Requests, limits: e.config.Limits, at: now, since: since}
}

// meet is the first active fault; one that has been met often enough is none any more. It is called with the lock held.
func (e *Endpoint) meet(since time.Duration) Fault {
	for i, f := range e.faults {
		if !f.Active(since) {
			continue
		}
		if f.Times == 1 {
			e.faults = slices.Delete(e.faults, i, i+1)
		} else if f.Times > 1 {
			e.faults[i].Times--
		}
		return f
	}
	return Fault{}
}

// state follows connections.
func (e *Endpoint) state(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		e.count(func(c *Counts) *int { return &c.Connections }, 1)
	case http.StateHijacked, http.StateClosed:
		e.count(func(c *Counts) *int { return &c.Connections }, -1)
	}
}
