package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/uplink"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	leaseFor  = 5 * time.Second // of an election's key, after its holder died
	tenureFor = 3 * time.Second // that a leader believes in it
)

// council is an etcd's elections in memory, and the seats that take part. Each seat is all of
// a replica but its store.
type council struct {
	t     *testing.T
	seats []*seat

	mu      sync.Mutex
	term    uint64
	leader  *store.Leader
	cut     map[string]bool // seats that the elections do not hear
	changed chan struct{}
	events  []*pb.FleetEvent // written, in order
	writes  int
	stuck   bool // no event is taken
}

func newCouncil(t *testing.T, seats int) *council {
	c := &council{t: t, term: 100, cut: map[string]bool{}, changed: make(chan struct{})}
	for i := range seats {
		c.seats = append(c.seats, c.seat(i))
	}
	for _, s := range c.seats {
		s.run()
	}
	return c
}

func (c *council) alter(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *council) look() (*store.Leader, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leader, c.changed
}

// leads waits for a leader other than those.
func (c *council) leads(not ...*seat) *seat {
	c.t.Helper()
	for range 1000 {
		synctest.Wait()
		if l, _ := c.look(); l != nil {
			for _, s := range c.seats {
				if s.name == l.Replica && !slices.Contains(not, s) && s.leadership.leads.Load() {
					return s
				}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatal("nobody leads")
	return nil
}

func (c *council) others(than ...*seat) (out []*seat) {
	for _, s := range c.seats {
		if !slices.Contains(than, s) {
			out = append(out, s)
		}
	}
	return out
}

func (c *council) stop() {
	for _, s := range c.seats {
		s.stop()
	}
}

// seat is a replica without a store.
type seat struct {
	*roles
	council *council
	name    string
	place   *bufconn.Listener
	lost    atomic.Bool // its tenure ran out, whatever the elections say
	regress atomic.Pointer[store.Regression]
	claimed sync.Map                        // by identity
	leaves  atomic.Pointer[[]*pb.LeafState] // in the place of those that are known; nil: they are

	resign func() // ends its leading, at once
	stop   func() // in order
	kill   func() // the elections hear nothing of it
}

func (c *council) seat(i int) *seat {
	s := &seat{council: c, name: fmt.Sprint("replica-", i), place: bufconn.Listen(1 << 20)}
	self := store.Candidate{Replica: s.name, Address: fmt.Sprintf("127.0.0.1:%d", i+1)}
	s.roles = newRoles(joints{
		self: self, namespace: "default", elections: s, ledger: s, now: now, options: c.options, log: testLog(s.name),
		lookup: func(context.Context, string) ([]string, error) { return nil, errors.New("no names in this test") },
		authorize: func(ctx context.Context, hello *pb.Hello) (hub.Guest, error) {
			return hub.Guest{Relay: hello.GetRelay(), Replica: hello.GetRelay()}, s.awaitsLeading(ctx, hello)
		},
	})
	s.claims.leaves = func() []*pb.LeafState {
		if l := s.leaves.Load(); l != nil {
			return *l
		}
		return s.hub.Leaves()
	}
	s.publish(1, "a")
	return s
}

// run runs the parts as a server does.
func (s *seat) run() {
	ctx, cancel := context.WithCancel(context.Background())
	leading, resign := context.WithCancel(ctx)
	server := grpc.NewServer(hub.ServerOptions()...)
	s.hub.Register(server)
	var leader, rest sync.WaitGroup
	leader.Go(func() { s.leadership.campaign(leading) })
	for _, part := range s.parts() {
		rest.Go(func() { part(ctx) })
	}
	rest.Go(func() { _ = s.hub.Run(ctx) })
	rest.Go(func() { _ = server.Serve(s.place) })
	s.resign = func() { resign(); leader.Wait() }
	s.stop = sync.OnceFunc(func() {
		s.resign()
		cancel()
		time.Sleep(1100 * time.Millisecond) // goodbyes
		server.Stop()
		rest.Wait()
		synctest.Wait()
	})
	s.kill = func() {
		s.council.alter(func() { s.council.cut[s.name] = true })
		server.Stop()
		s.stop()
	}
}

// options reach a seat by its address.
func (c *council) options(string) ([]grpc.DialOption, error) {
	return []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		var i int
		if _, err := fmt.Sscanf(address, "127.0.0.1:%d", &i); err != nil {
			return nil, err
		}
		return c.seats[i-1].place.DialContext(ctx)
	})}, nil
}

// campaign stands when nobody leads.
func (s *seat) campaign(ctx context.Context, lead func(context.Context, term)) error {
	c := s.council
	for ctx.Err() == nil {
		leader, changed := c.look()
		if leader != nil {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		var won term
		c.alter(func() {
			if c.leader == nil && !c.cut[s.name] {
				c.term++
				c.leader = &store.Leader{Replica: s.name, Address: s.relay.self.Address, Term: c.term}
				won = s.term(c.term)
			}
		})
		if won.number == 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		s.lost.Store(false)
		s.lead(ctx, lead, won)
	}
	return ctx.Err()
}

// lead leads; the key goes at once, or, if nobody hears this seat, when its lease is over.
func (s *seat) lead(ctx context.Context, lead func(context.Context, term), t term) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := context.AfterFunc(ctx, func() { s.lost.Store(true) })
	defer watch()
	lead(ctx, t)
	c := s.council
	c.mu.Lock()
	cut := c.cut[s.name]
	c.mu.Unlock()
	if !cut {
		c.vacate(t.number)
		return
	}
	time.AfterFunc(leaseFor, func() { c.vacate(t.number) })
}

func (c *council) vacate(number uint64) {
	c.alter(func() {
		if c.leader != nil && c.leader.Term == number {
			c.leader = nil
		}
	})
}

func (s *seat) term(number uint64) term {
	return term{
		number: number, holds: func() bool { return !s.lost.Load() },
		append: func(ctx context.Context, events []*pb.FleetEvent) error {
			c := s.council
			c.mu.Lock()
			stuck := c.stuck
			c.mu.Unlock()
			if stuck {
				<-ctx.Done()
				return ctx.Err()
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.writes++
			if c.leader == nil || c.leader.Term != number {
				return store.ErrLost
			}
			c.events = append(c.events, events...)
			return nil
		},
		tend: func(context.Context, store.Keep) error { return nil },
	}
}

func (s *seat) follow(ctx context.Context, changed func(*store.Leader)) error {
	for ctx.Err() == nil {
		leader, news := s.council.look()
		changed(leader)
		select {
		case <-ctx.Done():
		case <-news:
		}
	}
	return ctx.Err()
}

// Claim counts those who claim more.
func (s *seat) Claim(_ context.Context, _ string, c store.Claims) (bool, error) {
	n := 0
	for who, v := range c.Held {
		if !ahead(v, s.origin.state().Head) {
			continue
		}
		s.claimed.Store(who, v)
		if n++; n > 1 {
			s.regress.Store(&store.Regression{Epoch: v.GetEpoch(), Generation: v.GetGeneration(), By: "two"})
		}
	}
	return n > 0, nil
}

func (s *seat) Regressed(string) *store.Regression { return s.regress.Load() }

// now counts from the day before bubbles begin.
func now() int64 {
	return time.Since(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)).Microseconds()
}

// publish serves a catalog with these endpoints, in one workload.
func (s *seat) publish(generation uint64, endpoints ...string) {
	s.serve(generation, &pb.Workload{Name: "chat", Tiers: []*pb.Tier{{Endpoints: endpoints}}}, nil)
}

func (s *seat) serve(generation uint64, w *pb.Workload, tenants []*pb.Tenant) {
	entries := map[wire.Key]wire.Entry{}
	put := func(r *pb.Resource, err error) {
		if err != nil {
			s.council.t.Error(err)
		}
		entries[wire.Key{Kind: r.GetKind(), Name: r.GetName()}] = entryOf(r, 0)
	}
	c := &route.Catalog{Version: route.CatalogVersion{StoreID: "s", Epoch: 1, Generation: generation}}
	tier := route.Tier{Name: "all"}
	for _, t := range w.GetTiers() {
		for _, name := range t.GetEndpoints() {
			tier.Endpoints = append(tier.Endpoints, name)
			c.Endpoints = append(c.Endpoints, route.Endpoint{Name: name, Identity: 7, Weight: route.Absent, Breaker: policy})
			put(wire.Resource(pb.Kind_KIND_ENDPOINT, name, &pb.Endpoint{Name: name, Identity: 7}))
		}
	}
	put(wire.Resource(pb.Kind_KIND_WORKLOAD, w.GetName(), w))
	for _, t := range tenants {
		put(wire.Resource(pb.Kind_KIND_TENANT, t.GetName(), t))
	}
	c.Workloads = []route.Workload{{Name: w.GetName(), Tiers: []route.Tier{tier}, Attempts: route.Attempts{FirstToken: 5e6, Answer: 5e6, Total: 20e6}}}
	head := &pb.Head{StoreId: "s", Epoch: 1, Generation: generation, Serving: generation}
	state := wire.NewState(pb.Track_TRACK_CATALOG, &pb.Version{StoreId: "s", Epoch: 1, Generation: generation, Revision: generation}, entries)
	s.origin.serve(&store.State{Head: head, Confirmed: time.Now()}, state)
	s.judge.apply(c)
}

var policy = breaker.Policy{
	Consecutive: 3, Window: 10e6, SlowWindow: 60e6, MinSamples: 20, FailureRatio: 0.5, Cooldown: 30e6, CooldownMax: 300e6, Probes: 2, Ramp: 20e6, MaxEjected: 0.5,
}

// client is a library's link, by which it has come and what came down.
type client struct {
	name     string
	link     *uplink.Link
	stop     func()
	sequence uint64

	mu      sync.Mutex
	fleets  []*wire.State
	catalog *wire.State
	grants  []*pb.Grant
}

func (l *client) Apply(_ uint32, s *wire.State, _ bool) ([]*pb.Unusable, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.Track() == pb.Track_TRACK_FLEET {
		l.fleets = append(l.fleets, s)
	} else {
		l.catalog = s
	}
	return nil, nil
}

func (l *client) Grant(_ int64, g *pb.Grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grants = append(l.grants, g)
}

func (l *client) Ask(q *pb.Question, answer func(*pb.Answer)) {
	answer(&pb.Answer{Explain: &pb.ExplainResponse{Shed: "asked of " + q.GetLeaf()}})
}

// join connects a leaf to a seat, and to others when that one is gone.
func (s *seat) join(name string, others ...*seat) *client {
	return s.greet(&pb.Hello{Leaf: name, Node: "node-" + name, Subscribe: &pb.Subscribe{View: 1, All: true}}, others...)
}

func (s *seat) greet(hello *pb.Hello, others ...*seat) *client {
	l := &client{name: hello.Leaf}
	hello.Library, hello.Incarnation = "go", 1
	parents := []string{s.relay.self.Address}
	for _, o := range others {
		parents = append(parents, o.relay.self.Address)
	}
	options, _ := s.council.options("")
	var err error
	if l.link, err = uplink.New(uplink.Config{Parents: parents, Dial: options, Now: now, Hello: hello}, l); err != nil {
		s.council.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.link.Run(ctx)
	}()
	l.stop = sync.OnceFunc(func() { cancel(); <-done })
	return l
}

// fleet is the newest state of the fleet that came, decoded.
func (l *client) fleet(t *testing.T) *route.Fleet {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.fleets) == 0 {
		return &route.Fleet{}
	}
	f, err := wire.Fleet(l.fleets[len(l.fleets)-1])
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// word is the fleet's newest word on endpoint a.
func (l *client) word(t *testing.T) route.FleetBreaker {
	t.Helper()
	for _, e := range l.fleet(t).Endpoints {
		if e.Name == "a" && len(e.Breakers) > 0 {
			return e.Breakers[0]
		}
	}
	return route.FleetBreaker{}
}

// granted are the permits that came, of all terms.
func (l *client) granted() (out []*pb.Grant) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.grants)
}

// report sends one interval: 1 admitted, and these votes.
func (l *client) report(votes ...route.Vote) {
	l.sequence++
	l.send(&route.Report{Sequence: l.sequence, Rows: []route.Row{{Endpoint: "a", Identity: 7, Workload: "chat", Admitted: 1, InFlight: 1}}, Votes: votes})
}

func (l *client) send(r *route.Report) {
	r.Leaf, r.Incarnation, r.At, r.Interval = l.name, 1, now(), 1e6
	l.link.Report(now(), &pb.Report{Leaves: []*pb.LeafReport{wire.EncodeReport(now(), r)}})
}

var trip = route.Vote{Endpoint: "a", Identity: 7, Reason: "3 in a row failed"}

var verbose = os.Getenv("VERBOSE") != ""

func testLog(name string) hclog.Logger {
	if !verbose {
		return hclog.NewNullLogger()
	}
	return hclog.New(&hclog.LoggerOptions{Name: name, Output: os.Stdout, Level: hclog.Debug})
}
