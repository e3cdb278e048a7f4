package clientlib

import (
	"context"
	"errors"
	"time"

	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// Observer is told what happens, outside of every lock. Attempt and Call are called by
// whoever ended the attempt or the call, before it goes on: a slow one delays that caller
// and nobody else, so neither may block; a panic goes to that caller. Event is called by one
// goroutine, in order; what a slow one does not take in time is counted and left out, and a
// panic ends the process.
type Observer interface {
	Attempt(AttemptInfo)
	Call(CallInfo)
	Event(Event)
}

// AttemptInfo is one attempt that has ended; for a Tracer, that is about to be sent.
type AttemptInfo struct {
	Workload, Tenant, Endpoint string
	Provider, Dialect, BaseURL string               // the endpoint's
	Model                      string               // that was asked for, as its provider calls it
	API                        string               // "openai.chat", …; empty: any of the workload's
	Stream                     bool                 // an answer in events was asked for
	Catalog                    route.CatalogVersion // that chose the endpoint
	Number                     int                  // of the call, from 1
	Probe                      bool                 // whether it was to find out if the endpoint is well again
	Started                    time.Time
	QueueTime                  time.Duration  // that its call had waited in the queue by then
	FirstToken, Total          time.Duration  // since Started; FirstToken 0: none was seen
	Outcome                    Outcome        // with the usage, in tokens, and whether that is estimated
	Cost                       money.Nano     // nano-dollars, by the catalog's price for that usage
	Finish                     dialect.Finish // why the answer ended, where it was read here
	Decision                   route.Record   // how the endpoint was chosen: route.Replay chooses it again
	RequestID                  string         // the provider's own, if it gave one
	ResponseID                 string         // the answer's own, if it was read here
}

// Phase says how far the attempt came; Outcome.Domain whose doing it was.
func (a AttemptInfo) Phase() route.Phase { return a.Outcome.Kind.Phase(a.FirstToken > 0) }

// CallInfo is one call that has ended; for a Tracer, that begins.
type CallInfo struct {
	Workload, Tenant string
	API              string // as in AttemptInfo
	Stream           bool
	Started          time.Time
	Attempts         int           // that were made; 0: it was shed, or refused
	Endpoint         string        // of the last attempt
	Waited           time.Duration // in the queue, for its turn
	FirstToken       time.Duration // of the last attempt, since Started; 0: none was seen
	Total            time.Duration // since Started, until the last attempt had ended
	Outcome          Outcome       // of the last attempt; its usage is that attempt's
	Usage            Usage         // tokens, of all attempts
	Cost             money.Nano    // nano-dollars, of all attempts
	Err              error         // what the call failed with, *ShedError and all; nil: an answer was given
}

// End says in a word how the call ended: as its last attempt did; without any, for what it
// was shed (shed_limited, …), cancelled before anything was sent, or unroutable.
func (c CallInfo) End() string {
	cancelled := errors.Is(c.Err, context.Canceled) || errors.Is(c.Err, context.DeadlineExceeded)
	if c.Attempts > 0 && (c.Outcome.Kind != Unsent || !cancelled) {
		return c.Outcome.Kind.String()
	}
	var shed *ShedError
	switch {
	case errors.As(c.Err, &shed):
		_, code := shedStatus(shed.Kind)
		return code
	case cancelled:
		return Cancelled.String()
	}
	return "unroutable"
}

// Event is a change of state worth a log line. Fields that do not apply are empty.
type Event struct {
	Kind     string // opened, closed, …: as the core calls it; link_connected, link_lost, …: as the link does; source, unusable, dropped
	At       time.Time
	Endpoint string
	Class    string // of requests, of a breaker
	Workload string
	Name     string // of the credential, quota, tier, tenant, source or parent
	Reason   string
	Until    time.Time
	Count    int // of dropped events
	Err      error
}

// maxEvents bounds the events that wait for a slow observer.
const maxEvents = 256

// observe passes events to the observer until the queue is closed.
func (c *Client) observe() {
	for e := range c.events {
		c.observer.Event(e)
	}
}

// watched says whether somebody is told of attempts.
func (c *Client) watched() bool { return c.observer != nil || c.tracer != nil || c.records != nil }

// tell queues an event; it never waits.
func (c *Client) tell(e Event) {
	c.recordEvent(&e)
	if c.observer == nil {
		return
	}
	c.telling.Lock()
	defer c.telling.Unlock()
	if c.dropped > 0 && c.offer(Event{Kind: "dropped", At: e.At, Count: c.dropped}) {
		c.dropped = 0
	}
	if c.dropped > 0 || !c.offer(e) {
		c.dropped++
	}
}

func (c *Client) offer(e Event) bool {
	if c.silent {
		return false
	}
	select {
	case c.events <- e:
		return true
	default:
		return false
	}
}

// hush ends the queue: what is told later is lost.
func (c *Client) hush() {
	c.telling.Lock()
	defer c.telling.Unlock()
	c.silent = true
	close(c.events)
}

func (k clock) routed(e route.Event) Event {
	told := Event{
		Kind: e.Kind.String(), At: k.wall(e.At), Endpoint: e.Endpoint, Workload: e.Workload,
		Name: e.Name, Reason: e.Reason, Until: k.wall(e.Until), Count: e.Count,
	}
	if e.Kind == route.EventOpened || e.Kind == route.EventClosed {
		told.Class = e.Class.String()
	}
	return told
}
