package agent

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/uplink"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// now counts from the day before bubbles begin.
func now() int64 {
	return time.Since(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)).Microseconds()
}

// place is an address in memory. A link to it is told the parent "127.0.0.1:1".
type place struct{ *bufconn.Listener }

func newPlace() place { return place{bufconn.Listen(1 << 20)} }

func (p place) dial() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return p.DialContext(ctx) })}
}

var parents = []string{"127.0.0.1:1"}

// running is what goes on in the background until it is stopped.
type running struct {
	stop func()
	end  func() // the same, outside of a bubble
}

func run(f func(context.Context)) running {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	end := sync.OnceFunc(func() { cancel(); <-done })
	return running{sync.OnceFunc(func() { end(); synctest.Wait() }), end}
}

// replica is a hub that has one catalog and one fleet state for whoever asks.
type replica struct {
	running
	hub    *hub.Hub
	states []*wire.State
	head   int64 // when it heard of the head
	mu     sync.Mutex
	up     []*pb.Report
	views  []hub.View
}

func (r *replica) Subscribe(v hub.View) {
	r.views = append(r.views, v)
	for _, s := range r.states {
		r.hub.Publish(v, s)
	}
}
func (r *replica) Unsubscribe(hub.View) {}
func (r *replica) HeadAges() []*pb.HeadAge {
	return []*pb.HeadAge{{Track: pb.Track_TRACK_CATALOG, AgeUs: now() - r.head, Generation: 7}}
}

func serveReplica(at place, states ...*wire.State) *replica {
	r := &replica{states: states, head: now()}
	r.hub = hub.New(hub.Config{Source: r, Now: now, Age: -1, Up: func(_ int64, m *pb.Report) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.up = append(r.up, m)
	}})
	server := grpc.NewServer()
	r.hub.Register(server)
	r.running = run(func(ctx context.Context) {
		var wg sync.WaitGroup
		wg.Go(func() { _ = server.Serve(at) })
		_ = r.hub.Run(ctx)
		server.Stop()
		wg.Wait()
	})
	return r
}

// heard takes all that came up by now, as one.
func (r *replica) heard() *pb.Report {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &pb.Report{}
	for _, m := range r.up {
		out.Leaves = append(out.Leaves, m.Leaves...)
		out.States = append(out.States, m.States...)
		out.Nodes = append(out.Nodes, m.Nodes...)
	}
	r.up = nil
	return out
}

func serveAgent(t *testing.T, c Config, above, at place) running {
	t.Helper()
	_, r := serveAgentAt(t, c, above, at)
	return r
}

func serveAgentAt(t *testing.T, c Config, above, at place) (*Agent, running) {
	t.Helper()
	c.Parents, c.Dial, c.Socket = parents, above.dial(), "unused"
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	a, err := assemble(c, []net.Listener{at}, door{})
	if err != nil {
		t.Fatal(err)
	}
	return a, run(func(ctx context.Context) {
		if err := a.Run(ctx); err != nil {
			t.Errorf("agent %s: %v", c.Node, err)
		}
	})
}

// leaf is a library's link, and what came down it.
type leaf struct {
	running
	link   *uplink.Link
	mu     sync.Mutex
	states map[pb.Track]*wire.State
	grants []*pb.Grant
	dated  []int64
}

func (l *leaf) Apply(_ uint32, s *wire.State, _ bool) ([]*pb.Unusable, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states[s.Track()] = s
	if s.Version().Generation == 66 {
		return nil, errors.New("no such strategy")
	}
	return nil, nil
}

func (l *leaf) Grant(dated int64, g *pb.Grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grants, l.dated = append(l.grants, g), append(l.dated, dated)
}

// Ask answers with the leaf's name.
func (l *leaf) Ask(q *pb.Question, answer func(*pb.Answer)) {
	answer(&pb.Answer{Error: "asked " + q.GetLeaf()})
}

func (l *leaf) state(t pb.Track) *wire.State {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[t]
}

func startLeaf(t *testing.T, name string, above place) *leaf {
	t.Helper()
	l := &leaf{states: map[pb.Track]*wire.State{}}
	var err error
	l.link, err = uplink.New(uplink.Config{
		Parents: parents, Dial: above.dial(), Now: now,
		Hello: &pb.Hello{Library: "go", Leaf: name, Node: "not asked", Incarnation: 4, Subscribe: &pb.Subscribe{View: 1, All: true}},
	}, l)
	if err != nil {
		t.Fatal(err)
	}
	l.running = run(func(ctx context.Context) { _ = l.link.Run(ctx) })
	return l
}

func catalog(generation uint64, names ...string) *wire.State {
	return state(pb.Track_TRACK_CATALOG, pb.Kind_KIND_ENDPOINT, &pb.Version{StoreId: "s", Epoch: 1, Generation: generation}, 0, names)
}

func fleet(sequence uint64, at int64, names ...string) *wire.State {
	return state(pb.Track_TRACK_FLEET, pb.Kind_KIND_FLEET_ENDPOINT, &pb.Version{StoreId: "s", Epoch: 1, Term: 2, Sequence: sequence}, at, names)
}

func state(track pb.Track, kind pb.Kind, v *pb.Version, at int64, names []string) *wire.State {
	entries := map[wire.Key]wire.Entry{}
	for _, n := range names {
		entries[wire.Key{Kind: kind, Name: n}] = wire.Entry{Body: []byte(n), Hash: wire.HashOf([]byte(n)), At: at}
	}
	return wire.NewState(track, v, entries)
}

// chain is a replica, two agents one behind the other, and a leaf.
type chain struct {
	replica    *replica
	near, far  running
	leaf       *leaf
	leafParent place
	agents     map[string]*Agent
}

func startChain(t *testing.T, states ...*wire.State) *chain {
	top, middle, bottom := newPlace(), newPlace(), newPlace()
	c := &chain{leafParent: bottom, agents: map[string]*Agent{}}
	c.replica = serveReplica(top, states...)
	c.agents["near"], c.near = serveAgentAt(t, Config{Node: "near"}, top, middle)
	c.agents["far"], c.far = serveAgentAt(t, Config{Node: "far"}, middle, bottom)
	c.leaf = startLeaf(t, "leaf", bottom)
	return c
}

func (c *chain) stop() {
	c.leaf.stop()
	c.far.stop()
	c.near.stop()
	c.replica.stop()
}

// lines keeps what was logged.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(p))
	return len(p), nil
}

func (l *lines) with(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(slices.Collect(func(yield func(string) bool) {
		for _, s := range l.all {
			if strings.Contains(s, text) && !yield(s) {
				return
			}
		}
	}))
}
