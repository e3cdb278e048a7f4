package clientlib

import (
	"context"
	"slices"
	"sync"
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
	Credential              string // its name; Secret is what it stands for
}

// flight is what the copies of an attempt share.
type flight struct {
	client   *Client
	core     route.Attempt
	call     *call
	endpoint *route.Endpoint
	api      string // that the endpoint is asked for
	watch    watch  // after Pick it bounds nothing
	stall    bool   // limits what comes after the first token
	picked   bool   // the attempt's end is its call's
	info     AttemptInfo
	began    int64
	first    atomic.Int64 // when the first token came, µs; 0: not yet
	ended    atomic.Bool
	told     sync.WaitGroup    // the attempt has ended and is being told of
	traced   func(AttemptInfo) // nil: nobody follows the attempt
}

// take is the attempt of a step that says Send.
func (f *flight) take(c *Client, call *call, s route.Step) {
	call.attempts++
	if call.tried == "" {
		call.tried = s.Endpoint.Name
	} else {
		call.tried += "," + s.Endpoint.Name
	}
	now := c.clock.now()
	f.client, f.core, f.call, f.endpoint = c, s.Attempt, call, s.Endpoint
	f.api, f.stall, f.began = c.api(call, s.Endpoint), call.request.Stream, now
	f.info = AttemptInfo{
		Workload: call.workload, Tenant: text(call.request.tenant()), Endpoint: s.Endpoint.Name, Catalog: c.Version(),
		Provider: s.Endpoint.Provider, Dialect: s.Endpoint.Dialect, BaseURL: s.Endpoint.BaseURL, Model: dialect.WireModel(s.Endpoint),
		API: f.api, Stream: call.request.Stream, QueueTime: microseconds(call.waited),
		Number: call.attempts, Probe: s.Probe, Started: c.clock.wall(now), Decision: call.decision,
	}
}

// api is what a call asks of an endpoint: what it named, else what its workload takes there.
func (c *Client) api(call *call, e *route.Endpoint) string {
	if call.request.API != "" {
		return call.request.API
	}
	for _, api := range c.view.Load().terms.workloads[call.workload].apis {
		if slices.Contains(e.APIs, api) {
			return api
		}
	}
	return ""
}

// Endpoint is where the attempt goes.
func (a Attempt) Endpoint() Endpoint {
	if a.f == nil {
		return Endpoint{}
	}
	e := a.f.endpoint
	return Endpoint{
		Name: e.Name, Provider: e.Provider, Dialect: e.Dialect, BaseURL: e.BaseURL, APIVersion: e.APIVersion,
		Model: dialect.WireModel(e), Region: e.Region, Credential: e.Credential,
	}
}

// API is the one that the endpoint is to be asked for: what the request named, else that of
// the workload's which the endpoint takes. So it says which body is wanted.
func (a Attempt) API() string {
	if a.f == nil {
		return ""
	}
	return a.f.api
}

// Limits are an attempt's, in µs.
type Limits = route.Limits

// Limits are what the attempt is bounded by; those of one that Pick gave are the caller's own to
// set, and zero here.
func (a Attempt) Limits() Limits {
	if a.f == nil {
		return Limits{}
	}
	return a.f.watch.limits
}

// Secret is the credential to send, as this process's configuration maps its name; the
// empty one when the endpoint needs none. It is for the host of the endpoint's BaseURL
// only: an error says that it must not go there, or cannot be read. Settle the attempt
// as Unsent then.
func (a Attempt) Secret(ctx context.Context) (Secret, error) {
	if a.f == nil {
		return Secret{}, errCredential
	}
	u, _, err := parseBase(a.f.endpoint.BaseURL)
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
	first := a.f.end()
	c.mu.Unlock()
	c.handOver(held, a.f.call.request.tenant())
	if first {
		a.f.over(settled, now, o)
	}
	if settled && o.Kind == Unauthorized {
		c.keys.refused(a.f.endpoint.Credential)
	}
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
	first := a.f.end()
	c.mu.Unlock()
	c.handOver(held, a.f.call.request.tenant())
	if first {
		a.f.over(abandoned, now, Outcome{})
	}
}

// progress starts the limit of the stream's next piece.
func (f *flight) progress() {
	if f.watch.ctx != nil && f.stall {
		f.watch.phase("stall", f.watch.limits.Stall)
	}
}

// end ends the attempt, and says whether it had not yet. The client's lock is held, so that
// who ends it is who ended it in the router, and calls over.
func (f *flight) end() bool {
	if f.ended.Load() {
		return false
	}
	f.told.Add(1)
	f.ended.Store(true)
	return true
}

// over tells of an attempt that has just ended; counted is false where the router had
// given it up already.
func (f *flight) over(counted bool, now int64, o Outcome) {
	defer f.told.Done()
	if counted && f.client.watched() {
		f.describe(now, o)
		f.tell(&f.info)
	}
	if !f.picked {
		return
	}
	var why error
	if o.Kind != Served {
		why = &Fault{Outcome: o}
	}
	f.client.endCall(f.call, why)
}

// describe adds how the attempt ended.
func (f *flight) describe(now int64, o Outcome) {
	f.info.Outcome, f.info.Total = o, microseconds(now-f.began)
	if first := f.first.Load(); first > 0 {
		f.info.FirstToken = max(microseconds(first-f.began), 1)
	}
	if o.HasUsage {
		f.info.Cost = f.endpoint.Price.Cost(o.Usage)
	}
}
