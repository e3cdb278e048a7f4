package decide

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// catalog has the workload "chat" over endpoints a and b, of which each takes two at once.
func catalog() *route.Catalog {
	c := &route.Catalog{Version: route.CatalogVersion{StoreID: "s", Generation: 1}}
	for i, name := range []string{"a", "b"} {
		c.Endpoints = append(c.Endpoints, route.Endpoint{
			Name: name, Identity: uint64(i + 1), Provider: "p", Dialect: "gemini-next", BaseURL: "https://" + name + ".example/v1", APIVersion: "v9",
			Model: "m", WireModel: "m-1", Artifact: "m@1", APIs: []string{"openai.chat"}, Capabilities: []string{"stream"}, Credential: "key-" + name,
			ContextWindow: 8000, MaxOutputTokens: 4000, Weight: 100, Concurrency: 2,
			Breaker: breaker.Policy{Window: 5e6, SlowWindow: 60e6, MinSamples: 20, Consecutive: 3, FailureRatio: 0.5, Cooldown: 5e6, CooldownMax: 120e6, Probes: 1, Ramp: 1e6, MaxEjected: 0.5},
		})
	}
	c.Workloads = []route.Workload{{
		Name: "chat", APIs: []string{"openai.chat"}, Strategy: route.P2C, Tiers: []route.Tier{{Name: "all", Endpoints: []string{"a", "b"}}},
		Attempts: route.Attempts{Max: 3, RetryRatio: 0.5, RetryReserve: 10, Connect: 1e6, FirstToken: 5e6, Answer: 20e6, Stall: 3e6, Total: 60e6},
	}}
	return c
}

// world is a service over libraries on one catalog.
type world struct {
	*Service
	t      *testing.T
	stop   func()
	mu     sync.Mutex
	opened map[string]*clientlib.Client
}

type userKey struct{}

// as is a call of a user's.
func as(user string) context.Context { return context.WithValue(context.Background(), userKey{}, user) }

func serve(t *testing.T, c *route.Catalog, change ...func(*Config)) *world {
	w := &world{t: t, opened: map[string]*clientlib.Client{}}
	config := Config{
		Open: func(ctx context.Context, identity string) (*clientlib.Client, error) {
			lib, err := clientlib.Open(ctx, clientlib.Config{Catalog: c, Queue: -1, OthersSend: true})
			w.mu.Lock()
			defer w.mu.Unlock()
			w.opened[identity] = lib
			return lib, err
		},
		Caller: func(ctx context.Context) string { user, _ := ctx.Value(userKey{}).(string); return user },
		May:    func(string, string) error { return nil },
	}
	for _, f := range change {
		f(&config)
	}
	w.Service = New(config)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	w.stop = func() { cancel(); <-done; synctest.Wait() }
	return w
}

func (w *world) pick(q *pb.PickRequest) *pb.PickResponse {
	w.t.Helper()
	if q.Call == "" && q.Workload == "" {
		q.Workload = "chat"
	}
	m, err := w.Pick(as("me"), q)
	if err != nil {
		w.t.Fatalf("pick: %v", err)
	}
	return m
}

func (w *world) settle(attempt, outcome string) *pb.SettleResponse {
	w.t.Helper()
	m, err := w.Settle(as("me"), &pb.SettleRequest{Attempt: attempt, Outcome: outcome})
	if err != nil {
		w.t.Fatalf("settle: %v", err)
	}
	return m
}

// state is what the library knows of an endpoint.
func (w *world) state(endpoint string) route.EndpointState {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.opened["me"].Endpoints() {
		if e.Name == endpoint {
			return e
		}
	}
	w.t.Fatalf("no endpoint %q", endpoint)
	return route.EndpointState{}
}

// left is what is under way.
func (w *world) left() int {
	synctest.Wait()
	w.Service.mu.Lock()
	defer w.Service.mu.Unlock()
	return len(w.calls) + len(w.attempts)
}

// is checks an error's code, and that it says when to come back if it should.
func is(t *testing.T, err error, code codes.Code, wait time.Duration) {
	t.Helper()
	s, _ := status.FromError(err)
	got := time.Duration(0)
	for _, d := range s.Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			got = r.RetryDelay.AsDuration()
		}
	}
	if s.Code() != code || (wait > 0) != (got > 0) || got > max(wait, 0) {
		t.Errorf("%v, come back in %v; want %v, in at most %v", err, got, code, wait)
	}
}
