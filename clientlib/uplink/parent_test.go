package uplink

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// parent is one that does as it is told: a test plays it, message by message.
type parent struct {
	pb.UnimplementedSyncServiceServer
	name    string
	streams chan *call
	closed  atomic.Bool // it refuses every stream
	deaf    bool        // it reads nothing
}

// call is one stream of it.
type call struct {
	parent string
	at     time.Time
	st     pb.SyncService_SyncServer
	up     chan heard
	quit   chan error
	last   heard
}

type heard struct {
	m  *pb.SyncRequest
	at time.Time
}

func (p *parent) Sync(st pb.SyncService_SyncServer) error {
	c := &call{parent: p.name, at: time.Now(), st: st, up: make(chan heard, 1000), quit: make(chan error, 1)}
	p.streams <- c
	if p.closed.Load() {
		return status.Error(codes.Unavailable, "not ready")
	}
	if !p.deaf {
		go c.listen()
	}
	select {
	case err := <-c.quit:
		return err
	case <-st.Context().Done():
		return st.Context().Err()
	}
}

func (c *call) listen() {
	for {
		m, err := c.st.Recv()
		if err != nil {
			return
		}
		select {
		case c.up <- heard{m, time.Now()}:
		case <-c.st.Context().Done():
			return
		}
	}
}

// next is the next message from the child.
func (c *call) next(t *testing.T) *pb.SyncRequest {
	t.Helper()
	select {
	case c.last = <-c.up:
		return c.last.m
	case <-time.After(time.Minute):
		t.Fatal("the child says nothing")
		return nil
	}
}

// quiet fails if the child says something within d.
func (c *call) quiet(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case h := <-c.up:
		t.Fatalf("the child says %v", h.m)
	case <-time.After(d):
	}
}

// say sends a message now, dated truly.
func (c *call) say(t *testing.T, m *pb.SyncResponse) {
	t.Helper()
	m.Seen, m.HeldUs = c.last.m.GetSequence(), time.Since(c.last.at).Microseconds()
	c.sayAsIs(t, m)
}

func (c *call) sayAsIs(t *testing.T, m *pb.SyncResponse) {
	t.Helper()
	if err := c.st.Send(m); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func (c *call) update(t *testing.T, u *pb.Update) {
	t.Helper()
	c.say(t, &pb.SyncResponse{Message: &pb.SyncResponse_Update{Update: u}})
}

func (c *call) heartbeat(t *testing.T, heads ...*pb.HeadAge) {
	t.Helper()
	c.say(t, &pb.SyncResponse{Message: &pb.SyncResponse_Heartbeat{Heartbeat: &pb.Heartbeat{Heads: heads}}})
}

// applied sends a state whole and takes the ack.
func (c *call) applied(t *testing.T, view uint32, s *wire.State) *pb.Ack {
	t.Helper()
	c.update(t, wire.Whole(0, view, s))
	m := c.next(t)
	if m.GetAck() == nil {
		t.Fatalf("got %v, want an ack", m)
	}
	return m.GetAck()
}

// recorder is a handler that remembers.
type recorder struct {
	mu       sync.Mutex
	applied  []applied
	grants   []granted
	events   []Event
	fail     error
	unusable []*pb.Unusable
	asked    func(*pb.Question, func(*pb.Answer))
}

type applied struct {
	view  uint32
	state *wire.State
	cold  bool
}

type granted struct {
	dated  int64
	number uint64
}

func (r *recorder) Apply(view uint32, s *wire.State, cold bool) ([]*pb.Unusable, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return nil, r.fail
	}
	r.applied = append(r.applied, applied{view, s, cold})
	return r.unusable, nil
}

func (r *recorder) Grant(dated int64, g *pb.Grant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grants = append(r.grants, granted{dated, g.Number})
}

func (r *recorder) observe(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// seen counts the events of a kind.
func (r *recorder) seen(kind EventKind) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// generations are those of the catalogs applied, in order.
func (r *recorder) generations() (out []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.applied {
		if a.state.Track() == pb.Track_TRACK_CATALOG {
			out = append(out, a.state.Version().Generation)
		}
	}
	return out
}

// rig is a link with parents that a test plays.
type rig struct {
	*recorder
	link    *Link
	now     func() int64
	parents []*parent
	wall    atomic.Int64 // what the wall clock runs ahead, µs
	stop    func() error
}

type option func(*Config)

func inDir(dir string) option { return func(c *Config) { c.Dir = dir } }

// started makes a rig with n parents, whose link runs until the test ends. Call it in a bubble.
func started(t *testing.T, n int, options ...option) *rig {
	t.Helper()
	r := made(t, n, options...)
	r.run(t)
	return r
}

func made(t *testing.T, n int, options ...option) *rig {
	t.Helper()
	start := time.Now()
	r := &rig{recorder: &recorder{}, now: func() int64 { return time.Since(start).Microseconds() + 1 }}
	listeners := map[string]*bufconn.Listener{}
	c := Config{Now: r.now, Observe: r.observe, Hello: &pb.Hello{Leaf: "leaf", Subscribe: &pb.Subscribe{View: 1, All: true}}}
	for i := range n {
		p := &parent{name: fmt.Sprintf("127.0.0.1:%d", i+1), streams: make(chan *call, 1000)}
		lis, srv := bufconn.Listen(1<<20), grpc.NewServer()
		pb.RegisterSyncServiceServer(srv, p)
		go srv.Serve(lis)
		t.Cleanup(srv.Stop)
		listeners[p.name], r.parents, c.Parents = lis, append(r.parents, p), append(c.Parents, p.name)
	}
	c.Dial = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		return listeners[addr].DialContext(ctx)
	})}
	for _, o := range options {
		o(&c)
	}
	link, err := New(c, r)
	if err != nil {
		t.Fatal(err)
	}
	link.random = func() float64 { return 1 }
	link.wall = func() int64 { return time.Now().UnixMicro() + r.wall.Load() }
	r.link = link
	return r
}

// run runs the link until stop or the test's end.
func (r *rig) run(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.link.Run(ctx) }()
	r.stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// joined waits for the next stream of the first parent and takes its hello.
func (r *rig) joined(t *testing.T) (*call, *pb.Hello) {
	t.Helper()
	c := r.joins(t, 0)
	hello := c.next(t).GetHello()
	if hello == nil {
		t.Fatal("the first message is not hello")
	}
	return c, hello
}

func (r *rig) joins(t *testing.T, parent int) *call {
	t.Helper()
	select {
	case c := <-r.parents[parent].streams:
		return c
	case <-time.After(time.Hour):
		t.Fatal("the child does not come")
		return nil
	}
}

func version(generation uint64) *pb.Version {
	return &pb.Version{StoreId: "store", Epoch: 1, Generation: generation}
}

// catalog is a state with one quota for each name.
func catalog(generation uint64, names ...string) *wire.State {
	return state(pb.Track_TRACK_CATALOG, version(generation), pb.Kind_KIND_QUOTA, 0, names...)
}

// fleet is a state with one row for each name, made at.
func fleet(term, sequence uint64, at int64, names ...string) *wire.State {
	v := &pb.Version{StoreId: "store", Epoch: 1, Term: term, Sequence: sequence}
	return state(pb.Track_TRACK_FLEET, v, pb.Kind_KIND_FLEET_ENDPOINT, at, names...)
}

func state(track pb.Track, v *pb.Version, kind pb.Kind, at int64, names ...string) *wire.State {
	entries := map[wire.Key]wire.Entry{}
	for _, name := range names {
		body := []byte(name)
		entries[wire.Key{Kind: kind, Name: name}] = wire.Entry{Body: body, Hash: wire.HashOf(body), At: at}
	}
	return wire.NewState(track, v, entries)
}

// damaged is a whole state whose digest is another.
func damaged(s *wire.State) *pb.Update {
	u := wire.Whole(0, 1, s)
	u.Digest = []byte("another")
	return u
}

func (r *recorder) Ask(q *pb.Question, answer func(*pb.Answer)) { r.asked(q, answer) }
