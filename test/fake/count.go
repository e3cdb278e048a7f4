package fake

import (
	"maps"
	"slices"
	"time"
)

// Counts are since the endpoint started; Queued and InFlight are of now.
type Counts struct {
	Requests   int            // all
	Queued     int            // waiting for a slot
	InFlight   int            // in a slot
	Answered   int            // to the end
	Faulted    int            // spoiled by a fault
	Refused    int            // by a 4xx that no fault made
	Full       int            // refused with 503: the queue was full
	Gone       int            // the client left first
	Violated   int            // requests with at least one violation
	Violations map[string]int // by reason
}

// Violation is a request that should never have come here.
type Violation struct {
	Time   time.Time
	Reason string // model, key, header, capability, context_window, max_output
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

// arrive counts a request with its violations and returns the fault that it meets and when it came.
func (e *Endpoint) arrive(violations []Violation) (Fault, time.Time, time.Duration) {
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
	for _, f := range e.faults {
		if f.Active(since) {
			return f, now, since
		}
	}
	return Fault{}, now, since
}
