package clientlib

import (
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// Observer is told what happens, outside of every lock. Attempt is called by whoever
// ended the attempt, before it goes on: a slow one delays that caller and nobody else.
// Event is called by one goroutine, in order; what a slow one does not take in time is
// counted and left out.
type Observer interface {
	Attempt(AttemptInfo)
	Event(Event)
}

// AttemptInfo is one attempt that has ended.
type AttemptInfo struct {
	Workload, Tenant, Endpoint string
	Catalog                    route.CatalogVersion // that chose the endpoint
	Number                     int                  // of the call, from 1
	Probe                      bool
	Started                    time.Time
	FirstToken, Total          time.Duration // FirstToken 0: none was seen
	Outcome                    Outcome
	Cost                       money.Nano
	Decision                   route.Record // how the endpoint was chosen: route.Replay chooses it again
	RequestID                  string       // the provider's own, if it gave one
}

// Phase says how far the attempt came; Outcome.Domain whose doing it was.
func (a AttemptInfo) Phase() route.Phase { return a.Outcome.Kind.Phase(a.FirstToken > 0) }

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

// tell queues an event; it never waits.
func (c *Client) tell(e Event) {
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
