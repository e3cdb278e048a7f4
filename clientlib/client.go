// Package clientlib is what an application imports: it picks an endpoint for every call
// inside the calling process, and needs nothing else to be up while it does.
//
// Open starts a client on the newest catalog it can find; from then on it follows its
// parent (an agent or a replica of the control plane), reports what it sees, and routes
// by its last good snapshot whatever happens to them. Three ways lead to an endpoint:
// Transport for any SDK that takes an http.Client, such as OpenAI's and Anthropic's, Do for
// calls that the application sends itself, Pick for those that want only the decision.
//
// Package dialect judges answers for who sends by Do or Pick, clientprom and clientotel show
// what a client does, clienttest is for applications' tests. docs/library.md is the guide.
//
// The decisions are made in package route. This package owns what it does not: time,
// chance, goroutines, the lock, credentials and the connections.
package clientlib

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/uplink"
)

// Client routes the calls of one process. Open makes it, Close ends it. All of it is safe for concurrent use.
type Client struct {
	clock    clock
	keys     *keyring
	http     *connections
	count    func(workload string, body []byte) int64 // Config.CountTokens
	observer Observer
	tracer   Tracer
	news     *news
	reports  *reports
	link     *uplink.Link // nil: no parents
	records  *records     // nil: no parents

	mu        sync.Mutex // guards what follows; held for one router call, never across I/O
	router    *route.Router
	workloads map[string]*Workload
	urged     bool // the loop knows what is urgent; told by every failure, it would look at all attempts each time

	waiting *waiting // calls, for their turn

	view  atomic.Pointer[view]
	nudge chan struct{} // something is urgent

	telling sync.Mutex // guards what follows
	events  chan Event
	dropped int
	silent  bool

	closing sync.Once
	loops   running        // ticks and reports
	links   running        // the stream to the parent
	told    sync.WaitGroup // the observer's goroutine, which ends last
}

// view is what calls are routed by.
type view struct {
	snapshot *route.Snapshot
	terms    *terms
}

// Workload is the workload of that name. It never fails and survives snapshots: a name
// that no catalog has yet fails calls until one does. Equal names give the same one.
func (c *Client) Workload(name string) *Workload {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.workloads[name]
	if !ok {
		w = &Workload{client: c, name: name}
		c.workloads[name] = w
	}
	return w
}

// Version is that of the catalog calls are routed by.
func (c *Client) Version() route.CatalogVersion { return c.view.Load().snapshot.Version() }

// Endpoints says how this process sees each endpoint now.
func (c *Client) Endpoints() []route.EndpointState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.router.Endpoints(c.clock.now(), nil)
}

// Quotas says what this process has left of each limit that the catalog declares.
func (c *Client) Quotas() []route.QuotaState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.router.Quotas(c.clock.now(), nil)
}

// Strains says which endpoints have been limited, and which workloads have spilled to lower
// tiers, for minutes on end (C4).
func (c *Client) Strains() []route.Strain {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.router.Strains(c.clock.now(), nil)
}

// Explain says why a request would, or would not, go where it does, now. It changes nothing.
func (c *Client) Explain(workload string, r Request) route.Explanation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.router.Explain(c.clock.now(), workload, r.core(0))
}

// apply makes a snapshot the one that decides.
func (c *Client) apply(s *route.Snapshot) {
	v := &view{snapshot: s}
	if was := c.view.Load(); was == nil {
		v.terms = termsOf(s.Catalog(), nil)
	} else if v.terms = was.terms; was.snapshot.Catalog() != s.Catalog() {
		v.terms = termsOf(s.Catalog(), was.terms)
	}
	c.mu.Lock()
	c.router.Apply(c.clock.now(), s)
	c.view.Store(v)
	c.mu.Unlock()
	c.reconsider()
}

// step decides a call's next step.
func (c *Client) step(call *call) route.Step {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.router.Next(c.clock.now(), rand.Uint32(), &call.core)
	if s.Kind == route.Send && c.watched() {
		call.decision = c.router.Decision()
	}
	return s
}

// urge has the loop look at what is urgent. It never waits.
func (c *Client) urge() {
	select {
	case c.nudge <- struct{}{}:
	default:
	}
}
