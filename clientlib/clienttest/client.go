package clienttest

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Client is a client that remembers what it decided.
type Client struct {
	*clientlib.Client
	seen seen
}

// Open opens a client on a catalog. End it with Close.
func Open(ctx context.Context, c clientlib.Config) (*Client, error) {
	t := &Client{seen: seen{next: c.Observer}}
	c.Observer = &t.seen
	var err error
	t.Client, err = clientlib.Open(ctx, c)
	return t, err
}

// HTTP is an HTTP client whose calls the client routes.
func (c *Client) HTTP() *http.Client {
	return &http.Client{Transport: c.Transport(clientlib.TransportConfig{})}
}

// Attempts are those that have ended, in order.
func (c *Client) Attempts() []clientlib.AttemptInfo {
	c.seen.mu.Lock()
	defer c.seen.mu.Unlock()
	return slices.Clone(c.seen.attempts)
}

// Decisions are the attempts in short: "a faulted", "b served".
func (c *Client) Decisions() []string {
	var all []string
	for _, a := range c.Attempts() {
		all = append(all, a.Endpoint+" "+a.Outcome.Kind.String())
	}
	return all
}

type seen struct {
	next     clientlib.Observer // or nil
	mu       sync.Mutex         // guards what follows
	attempts []clientlib.AttemptInfo
}

func (s *seen) Attempt(a clientlib.AttemptInfo) {
	s.mu.Lock()
	s.attempts = append(s.attempts, a)
	s.mu.Unlock()
	if s.next != nil {
		s.next.Attempt(a)
	}
}

func (s *seen) Call(c clientlib.CallInfo) {
	if s.next != nil {
		s.next.Call(c)
	}
}

func (s *seen) Event(e clientlib.Event) {
	if s.next != nil {
		s.next.Event(e)
	}
}

// Bootstrap is a catalog's resources as Config.Bootstrap takes them: what a control
// plane compiles from HCL.
func Bootstrap(resources ...*pb.Resource) ([]byte, error) {
	entries := map[wire.Key]wire.Entry{}
	for _, r := range resources {
		entries[wire.Key{Kind: r.GetKind(), Name: r.GetName()}] = wire.Entry{Body: r.GetBody(), Hash: wire.HashOf(r.GetBody())}
	}
	s := wire.NewState(pb.Track_TRACK_CATALOG, &pb.Version{StoreId: "test", Epoch: 1, Generation: 1, Revision: 1}, entries)
	return proto.Marshal(wire.Whole(0, 0, s))
}

var _ clientlib.Observer = (*seen)(nil)

const second = 1_000_000 // µs

// Pool is a catalog with one workload that has all these endpoints in one tier, each
// the first choice as often as any other. What it returns may be changed before use.
func Pool(workload string, endpoints ...*Endpoint) *route.Catalog {
	c := &route.Catalog{Version: route.CatalogVersion{StoreID: "test", Epoch: 1, Generation: 1, Revision: 1}}
	tier := route.Tier{Name: "all"}
	for i, e := range endpoints {
		tier.Endpoints = append(tier.Endpoints, e.Name)
		c.Endpoints = append(c.Endpoints, route.Endpoint{
			Name: e.Name, Identity: uint64(i + 1), Provider: e.Name, Dialect: "openai-compatible", BaseURL: e.URL,
			Model: "model", WireModel: "model-at-" + e.Name, Artifact: "model@1", APIs: []string{"openai.chat"},
			Capabilities: []string{"chat", "stream", "tools", "json_schema", "vision"}, ContextWindow: 128_000, MaxOutputTokens: 8_000,
			Weight: 100, Concurrency: route.Absent,
			Breaker: breaker.Policy{
				Window: 5 * second, SlowWindow: 60 * second, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5,
				TTFTLimit: 10 * second, Cooldown: 5 * second, CooldownMax: 120 * second, Probes: 3, Ramp: 30 * second, MaxEjected: 0.5,
			},
		})
	}
	c.Workloads = []route.Workload{{
		Name: workload, APIs: []string{"openai.chat"}, Tiers: []route.Tier{tier}, Strategy: route.P2C,
		Attempts: route.Attempts{
			Max: 3, RetryRatio: 0.1, RetryReserve: 10, Connect: 2 * second, FirstToken: 10 * second,
			Answer: 180 * second, Stall: 20 * second, Total: 600 * second,
		},
	}}
	return c
}

// Tenant may use every workload as it likes. Change it before use: Caps.Requests = 10.
func Tenant(name string) route.Tenant {
	return route.Tenant{Name: name, Workloads: []string{"*"}, Caps: route.NoCaps()}
}

// Quota limits nothing. Change it before use, Requests = 10, and name it in Endpoint.Quotas.
func Quota(name string) route.Quota {
	return route.Quota{Name: name, Requests: route.Absent, Tokens: route.Absent, Input: route.Absent, Output: route.Absent, Daily: route.Absent}
}
