package clientlib

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

// Attempt is one try at one endpoint. It is taken once and given back once, by Settle
// or Abandon; what comes later does nothing. Copies are the same attempt; the zero
// value is none.
type Attempt struct{ f *flight }

// Endpoint is where an attempt goes.
type Endpoint struct {
	Name, Provider, Dialect string
	BaseURL, APIVersion     string
	Model                   string // as its provider calls it
	Region                  string
}

// flight is what the copies of an attempt share.
type flight struct {
	client   *Client
	core     route.Attempt
	call     *call
	endpoint *route.Endpoint
	api      string
	watch    *watch // nil: after Pick nobody watches the limits
	stall    bool   // limits what comes after the first token
	info     AttemptInfo
	began    int64
	first    atomic.Int64 // when the first token came, µs; 0: not yet
	ended    atomic.Bool
}

// take is the attempt of a step that says Send.
func (c *Client) take(call *call, s route.Step, now int64) *flight {
	call.attempts++
	if call.tried == "" {
		call.tried = s.Endpoint.Name
	} else {
		call.tried += "," + s.Endpoint.Name
	}
	return &flight{
		client: c, core: s.Attempt, call: call, endpoint: s.Endpoint, api: call.request.API, stall: call.request.Stream, began: now,
		info: AttemptInfo{
			Workload: call.workload, Tenant: call.request.Tenant, Endpoint: s.Endpoint.Name, Catalog: c.Version(),
			Number: call.attempts, Probe: s.Probe, Started: c.clock.wall(now), Decision: call.decision,
		},
	}
}

// Endpoint is where the attempt goes.
func (a Attempt) Endpoint() Endpoint {
	if a.f == nil {
		return Endpoint{}
	}
	e := a.f.endpoint
	return Endpoint{
		Name: e.Name, Provider: e.Provider, Dialect: e.Dialect, BaseURL: e.BaseURL, APIVersion: e.APIVersion,
		Model: cmp.Or(e.WireModel, e.Model), Region: e.Region,
	}
}

// API is the one that the request asked for; empty: any of the workload's.
func (a Attempt) API() string {
	if a.f == nil {
		return ""
	}
	return a.f.api
}

// Secret is the credential to send, as this process's configuration maps its name; the
// empty one when the endpoint needs none. It is for the host of the endpoint's BaseURL
// only: an error says that it must not go there, or cannot be read. Settle the attempt
// as Unsent then.
func (a Attempt) Secret(ctx context.Context) (Secret, error) {
	if a.f == nil {
		return Secret{}, errCredential
	}
	u, err := dialect.ChatURL(a.f.endpoint.BaseURL)
	if err != nil {
		return Secret{}, err
	}
	return a.f.client.keys.secret(ctx, a.f.endpoint.Credential, u)
}

// FirstToken marks the first event that the model generated: text, a tool's call or
// reasoning; not headers, not a role.
func (a Attempt) FirstToken() {
	if a.f == nil {
		return
	}
	c, now := a.f.client, a.f.client.clock.now()
	c.mu.Lock()
	marked := c.router.FirstToken(now, a.f.core)
	c.mu.Unlock()
	if marked {
		a.f.first.CompareAndSwap(0, now)
		a.f.progress()
	}
}

// Content marks that part of the answer has reached the caller: from then on no other
// attempt follows.
func (a Attempt) Content() {
	if a.f == nil {
		return
	}
	c := a.f.client
	c.mu.Lock()
	c.router.Content(c.clock.now(), a.f.core)
	c.mu.Unlock()
	a.f.progress()
}

// Settle ends the attempt.
func (a Attempt) Settle(o Outcome) {
	if a.f == nil {
		return
	}
	c, now := a.f.client, a.f.client.clock.now()
	held := c.waiting.hold()
	c.mu.Lock()
	settled := c.router.Settle(now, a.f.core, o)
	if settled {
		o = a.f.call.core.Last()
	}
	urgent := c.router.Urgent() && !c.urged
	c.urged = c.urged || urgent
	c.mu.Unlock()
	c.handOver(held, a.f.call.request.tenant())
	a.f.over(settled, now, o)
	if urgent {
		c.urge()
	}
}

// Abandon ends an attempt of which nothing is known. Defer it: once settled it does nothing.
func (a Attempt) Abandon() {
	if a.f == nil || a.f.ended.Load() {
		return
	}
	c, now := a.f.client, a.f.client.clock.now()
	held := c.waiting.hold()
	c.mu.Lock()
	abandoned := c.router.Abandon(now, a.f.core)
	c.mu.Unlock()
	c.handOver(held, a.f.call.request.tenant())
	a.f.over(abandoned, now, Outcome{})
}

// progress starts the limit of the stream's next piece.
func (f *flight) progress() {
	if f.watch != nil && f.stall {
		f.watch.phase("stall", f.watch.limits.Stall)
	}
}

// over tells the observer of an attempt that has just ended.
func (f *flight) over(ended bool, now int64, o Outcome) {
	if f.ended.Swap(true) || !ended || f.client.observer == nil {
		return
	}
	info := f.info
	info.Outcome, info.Total = o, microseconds(now-f.began)
	if first := f.first.Load(); first > 0 {
		info.FirstToken = max(microseconds(first-f.began), 1)
	}
	if o.HasUsage {
		info.Cost = f.endpoint.Price.Cost(o.Usage)
	}
	f.client.observer.Attempt(info)
}
