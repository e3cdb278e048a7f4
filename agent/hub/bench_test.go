package hub

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

var everything = View{Selector: wire.Selector{All: true}}

// origin is a Source that publishes what it is told.
type origin struct {
	hub    *Hub
	mu     sync.Mutex
	states map[string][]*wire.State
	log    []string
	heads  func() []*pb.HeadAge // nil: none
}

func (o *origin) Subscribe(v View) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = append(o.log, "+"+v.Key())
	for _, s := range o.states[v.Key()] {
		o.hub.Publish(v, s)
	}
}

func (o *origin) Unsubscribe(v View) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = append(o.log, "-"+v.Key())
}

func (o *origin) HeadAges() []*pb.HeadAge {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.heads == nil {
		return nil
	}
	return o.heads()
}

// asked is what the source was told.
func (o *origin) asked() []string {
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.log)
}

// world is a hub that serves over memory.
type world struct {
	*origin
	t        *testing.T
	listener *bufconn.Listener
	reports  chan *pb.Report
	events   chan Event
	start    time.Time
	stop     func()
}

// serve runs a hub in this bubble until the test ends it with stop.
func serve(t *testing.T, change func(*Config), states ...*wire.State) *world {
	w := &world{
		t: t, listener: bufconn.Listen(1 << 20), start: time.Now(),
		reports: make(chan *pb.Report, 1000), events: make(chan Event, 1000),
	}
	w.origin = &origin{states: map[string][]*wire.State{everything.Key(): states}}
	config := Config{
		Source: w.origin, Now: w.now, Node: "node", Age: -1,
		Up:      func(_ int64, r *pb.Report) { w.reports <- r },
		Observe: func(e Event) { w.events <- e },
	}
	if change != nil {
		change(&config)
	}
	w.hub = New(config)
	server := grpc.NewServer()
	w.hub.Register(server)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(w.listener) })
	wg.Go(func() { _ = w.hub.Run(ctx) })
	w.stop = func() {
		cancel()
		w.hub.wg.Wait()
		server.Stop()
		wg.Wait()
	}
	return w
}

func (w *world) now() int64 { return time.Since(w.start).Microseconds() + 1 }

// visitor is a child that speaks the protocol by hand.
type visitor struct {
	t        *testing.T
	stream   pb.SyncService_SyncClient
	sequence uint64
	now      func() int64
	seen     atomic.Uint64 // last sequence from the hub
	seenAt   atomic.Int64
	in       chan *pb.SyncResponse
	err      chan error
	leave    func()
}

func (w *world) visit(hello *pb.Hello) *visitor {
	w.t.Helper()
	v := w.connect(true)
	v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Hello{Hello: hello}})
	return v
}

// connect opens a stream; one that does not read takes nothing from it.
func (w *world) connect(reads bool) *visitor {
	w.t.Helper()
	conn, err := grpc.NewClient("passthrough:hub",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return w.listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	stream, err := pb.NewSyncServiceClient(conn).Sync(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	v := &visitor{t: w.t, now: w.now, stream: stream, in: make(chan *pb.SyncResponse, 1000), err: make(chan error, 1)}
	var wg sync.WaitGroup
	if reads {
		wg.Go(v.listen)
	}
	v.leave = func() {
		cancel()
		_ = conn.Close()
		wg.Wait()
		synctest.Wait()
	}
	return v
}

func (v *visitor) listen() {
	for {
		m, err := v.stream.Recv()
		if err != nil {
			v.err <- err
			return
		}
		v.seen.Store(m.Sequence)
		v.seenAt.Store(v.now())
		v.in <- m
	}
}

// say sends a message, dated as a child does.
func (v *visitor) say(m *pb.SyncRequest) {
	v.t.Helper()
	m.Seen, m.HeldUs = v.seen.Load(), v.now()-v.seenAt.Load()
	v.sayAsIs(m)
}

func (v *visitor) sayAsIs(m *pb.SyncRequest) {
	v.t.Helper()
	v.sequence++
	m.Sequence = v.sequence
	if err := v.stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
		v.t.Fatal(err)
	}
	synctest.Wait()
}

// took acks an update.
func (v *visitor) took(u *pb.Update) {
	v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Ack{Ack: &pb.Ack{Held: []*pb.Held{heldOf(u)}}}})
}

func heldOf(u *pb.Update) *pb.Held {
	return &pb.Held{Track: u.Track, View: u.View, Version: u.Version, Digest: u.Digest}
}

func (v *visitor) refuse(u *pb.Update, reason string) {
	v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Nack{Nack: &pb.Nack{Track: u.Track, View: u.View, Version: u.Version, Reason: reason}}})
}

func (v *visitor) report(r *pb.Report) {
	v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Report{Report: r}})
}

// alive answers heartbeats in the name of a child that holds nothing new.
func (v *visitor) alive() {
	v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Ack{Ack: &pb.Ack{}}})
}

// heard takes all that came by now.
func (v *visitor) heard() []*pb.SyncResponse {
	synctest.Wait()
	var out []*pb.SyncResponse
	for len(v.in) > 0 {
		out = append(out, <-v.in)
	}
	return out
}

// updates takes the updates that came by now.
func (v *visitor) updates() []*pb.Update {
	var out []*pb.Update
	for _, m := range v.heard() {
		if u := m.GetUpdate(); u != nil {
			out = append(out, u)
		}
	}
	return out
}

// update takes the one update that came by now.
func (v *visitor) update() *pb.Update {
	v.t.Helper()
	all := v.updates()
	if len(all) != 1 {
		v.t.Fatalf("%d updates came, want one: %v", len(all), all)
	}
	return all[0]
}

// ended is the error that the stream ended with.
func (v *visitor) ended() error {
	v.t.Helper()
	synctest.Wait()
	select {
	case err := <-v.err:
		return err
	default:
		v.t.Fatal("the stream has not ended")
		return nil
	}
}

func helloOf(leaf string, held ...*pb.Held) *pb.Hello {
	return &pb.Hello{Library: "go", Leaf: leaf, Node: leaf + "'s", Incarnation: 1, Held: held, Subscribe: &pb.Subscribe{View: 1, All: true}}
}

// names are the upserts' and the removed resources' names.
func names(u *pb.Update) []string {
	var out []string
	for _, r := range u.Upserts {
		out = append(out, r.Name)
	}
	for _, r := range u.Removed {
		out = append(out, "-"+r.Name)
	}
	slices.Sort(out)
	return out
}

// told takes the kinds of all events so far.
func (w *world) told() []EventKind {
	synctest.Wait()
	var out []EventKind
	for len(w.events) > 0 {
		out = append(out, (<-w.events).Kind)
	}
	return out
}

// passed takes all that went up by now, as one.
func (w *world) passed() *pb.Report {
	synctest.Wait()
	out := &pb.Report{}
	for len(w.reports) > 0 {
		r := <-w.reports
		out.Leaves = append(out.Leaves, r.Leaves...)
		out.States = append(out.States, r.States...)
		out.Nodes = append(out.Nodes, r.Nodes...)
	}
	return out
}
