package faults

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
	"github.com/pointsman/pointsman/test/fake"
)

// policy is how answers are asked for and delivered.
type policy uint8

const (
	live       policy = iota // streamed, passed on as it comes
	whole                    // streamed, held to its end
	unstreamed               // in one piece
	policies
)

func (p policy) String() string { return [...]string{"live", "whole", "unstreamed"}[p] }

// What an answer is, and how fast.
const (
	tokens = 60
	ttft   = 200 * time.Millisecond
	tpot   = 20 * time.Millisecond
	answer = ttft + (tokens-1)*tpot
)

// scene is a client on the workload "chat", whose first tier is endpoint a and whose second is b, in virtual time.
type scene struct {
	*clienttest.Client
	t         *testing.T
	policy    policy
	api       *api
	endpoints map[string]*fake.Endpoint
	prices    map[string]money.Price
	http      *http.Client
	sender    *http.Transport
	began     time.Time
	results   []result

	mu     sync.Mutex // guards what follows
	events []clientlib.Event
}

// cast is who plays: the endpoints, how they speak, and what the catalog says otherwise.
type cast struct {
	api       *api
	endpoints []fake.Config
	catalog   func(*route.Catalog)
}

func (s *scene) Attempt(clientlib.AttemptInfo) {}
func (s *scene) Call(clientlib.CallInfo)       {}

func (s *scene) Event(e clientlib.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// begin opens a scene inside a bubble; it closes with the test.
func begin(t *testing.T, p policy, c cast) *scene {
	t.Helper()
	s := &scene{t: t, policy: p, api: c.api, endpoints: map[string]*fake.Endpoint{}, prices: map[string]money.Price{}, began: time.Now()}
	addresses := map[string]*fake.Memory{}
	var pool []*clienttest.Endpoint
	for _, config := range c.endpoints {
		listener := fake.NewMemory()
		config.Models, config.Listener = []string{"model-at-" + config.Name}, listener
		config.TTFT.Base, config.TPOT = ttft, tpot
		e, err := fake.New(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		s.endpoints[config.Name], addresses[config.Name+":80"] = e, listener
		pool = append(pool, &clienttest.Endpoint{Name: config.Name, URL: "http://" + config.Name + c.api.base})
	}
	s.sender = &http.Transport{MaxIdleConnsPerHost: 32, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return addresses[address].Dial(ctx)
	}}
	t.Cleanup(s.sender.CloseIdleConnections)
	var err error
	config := clientlib.Config{Catalog: s.catalog(pool, c.catalog), HTTP: s.sender, Observer: s, CountTokens: countTokens}
	if s.Client, err = clienttest.Open(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.http = s.HTTP()
	return s
}

// catalog has a tier for each endpoint, each at its own price.
func (s *scene) catalog(pool []*clienttest.Endpoint, change func(*route.Catalog)) *route.Catalog {
	c := clienttest.Pool("chat", pool...)
	w := &c.Workloads[0]
	w.Whole, w.Tiers, w.APIs = s.policy == whole, nil, []string{s.api.name}
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		e.Dialect, e.APIVersion, e.APIs = s.api.dialect, "2025-04-01", []string{s.api.name}
		e.Price = money.Price{Input: money.Pico(i+2) * 1_000_000, Output: money.Pico(i+2) * 4_000_000}
		w.Tiers = append(w.Tiers, route.Tier{Name: e.Name, Endpoints: []string{e.Name}})
	}
	if change != nil {
		change(c)
	}
	for _, e := range c.Endpoints {
		s.prices[e.Name] = e.Price
	}
	return c
}

// end holds every scene to it: what was taken has been given back, who was sent something is told of, and the money
// is what the endpoints themselves counted.
func (s *scene) end() {
	s.t.Helper()
	attempts, cost, guessed := map[string]int{}, map[string]money.Nano{}, map[string]bool{}
	for _, a := range s.Attempts() {
		attempts[a.Endpoint]++
		cost[a.Endpoint] += a.Cost
		guessed[a.Endpoint] = guessed[a.Endpoint] || a.Outcome.Estimated && s.policy == unstreamed // its bytes tell little of its tokens
	}
	for name, e := range s.endpoints {
		c := e.Counts()
		if c.Violated > 0 {
			s.t.Errorf("endpoint %q was sent what it may not be: %v", name, e.Violations())
		}
		if c.Requests != attempts[name] {
			s.t.Errorf("endpoint %q got %d requests in %d attempts", name, c.Requests, attempts[name])
		}
		price := s.prices[name]
		if want := price.Cost(clientlib.Usage{Input: c.Input, Output: c.Output}); cost[name] != want && !guessed[name] {
			s.t.Errorf("endpoint %q: cost %v, want %v: it counted %d and %d tokens", name, cost[name], want, c.Input, c.Output)
		}
	}
	for _, e := range s.Endpoints() {
		if e.InFlight != 0 {
			s.t.Errorf("endpoint %q: %d in flight at the end", e.Name, e.InFlight)
		}
	}
}

// count is what an endpoint counted.
func (s *scene) count(endpoint string) fake.Counts { return s.endpoints[endpoint].Counts() }

// requests holds an endpoint's number of them to bounds.
func (s *scene) requests(endpoint string, least, most int) {
	s.t.Helper()
	if n := s.count(endpoint).Requests; n < least || n > most {
		s.t.Errorf("endpoint %q got %d requests, want %d to %d: %v", endpoint, n, least, most, s.Decisions())
	}
}

// opened is how often a breaker of an endpoint did.
func (s *scene) opened(endpoint string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Kind == "opened" && e.Endpoint == endpoint {
			n++
		}
	}
	return n
}

// breakers holds those of a to having opened or not; b's never does.
func (s *scene) breakers(aOpened bool) {
	s.t.Helper()
	if n := s.opened("a"); n > 0 != aOpened {
		s.t.Errorf("a's breaker opened %d times", n)
	}
	if n := s.opened("b"); n > 0 {
		s.t.Errorf("b's breaker opened %d times", n)
	}
}

// log tells of all attempts and events, for whoever asks why.
func (s *scene) log() {
	at := func(t time.Time) time.Duration { return t.Sub(s.began).Round(time.Millisecond) }
	for _, a := range s.Attempts() {
		s.t.Logf("%8v %s %v %s", at(a.Started), a.Endpoint, a.Outcome.Kind, a.Outcome.Detail)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		s.t.Logf("%8v %s %s %s %s", at(e.At), e.Kind, e.Endpoint, e.Class, e.Reason)
	}
}
