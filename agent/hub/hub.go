package hub

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Config is what a hub needs. Source, Up and Now are required.
type Config struct {
	Source Source
	Up     func(at int64, r *pb.Report) // takes what goes to the parent, or to the leader in this process, its ages as of at; must not block
	Now    func() int64                 // µs, monotonic

	Node      string                                                                  // stamped on direct leaves' reports; empty: what the leaf's hello says
	Authorize func(ctx context.Context, hello *pb.Hello) (identity string, err error) // a status error refuses; nil: all are welcome, nobody in particular
	Observe   func(Event)                                                             // nil: nobody looks
	Records   func(leaf string, r *pb.Records)                                        // takes over what a child recorded; must not block; nil: that is dropped
	Bounds    Bounds
	Age       time.Duration // a stream is moved on after this ± 10 %; 0: DefaultAge; negative: never
}

const (
	helloWithin = 5 * time.Second
	stopWithin  = time.Second // for goodbyes to go out
	sweepEach   = time.Second
)

// Hub serves children. Make it with New.
type Hub struct {
	config Config
	wake   chan struct{} // Run has something to do
	wg     sync.WaitGroup

	mu       sync.Mutex
	closing  bool
	door     door
	children map[*child]bool
	named    map[string]*child
	views    map[string]*view
	roster   roster
	outbox   outbox
	notes
}

// notes are what Observe has yet to hear.
type notes struct {
	events  []Event
	refused tally // streams
	dropped tally // reports and states of leaves
}

// tally counts what was turned away since that was last said.
type tally struct {
	count int
	last  string // why
}

func (t *tally) add(why error) { *t = tally{t.count + 1, status.Convert(why).Message()} }

// New makes a hub that serves while Run runs.
func New(c Config) *Hub {
	return &Hub{
		config: c, wake: make(chan struct{}, 1), door: newDoor(c.Bounds), roster: newRoster(),
		children: map[*child]bool{}, named: map[string]*child{}, views: map[string]*view{},
	}
}

type server struct {
	pb.UnimplementedSyncServiceServer
	hub *Hub
}

// Sync serves one child.
func (s server) Sync(stream stream) error { return s.hub.serve(stream) }

// Register adds the sync service to a server.
func (h *Hub) Register(s *grpc.Server) { pb.RegisterSyncServiceServer(s, server{hub: h}) }

func (h *Hub) now() int64 { return h.config.Now() }

func (h *Hub) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// note keeps an event until the lock is given back.
func (h *Hub) note(k EventKind, c *child, detail string) {
	h.events = append(h.events, Event{Kind: k, Child: c.name, Detail: detail})
}

// unlock gives the lock back and says what happened meanwhile.
func (h *Hub) unlock() {
	events := h.events
	h.events = nil
	h.mu.Unlock()
	if h.config.Observe == nil {
		return
	}
	for _, e := range events {
		h.config.Observe(e)
	}
}

// serve is one stream from its beginning to its end. A reader and a writer of its own may
// block; it may not, and when it returns they end too.
func (h *Hub) serve(s stream) error {
	c, err := h.enter(s)
	if err != nil {
		return err
	}
	defer h.leave(c)
	h.wg.Go(func() { h.read(c) })
	hello := time.NewTimer(helloWithin)
	defer hello.Stop()
	select {
	case <-c.joined:
		h.wg.Go(func() { h.write(c) })
	case <-hello.C:
		c.end(status.Errorf(codes.DeadlineExceeded, "no hello within %v", helloWithin), false)
	case <-c.done:
	}
	<-c.done
	return c.err
}

func (h *Hub) enter(s stream) (*child, error) {
	p, ok := peer.FromContext(s.Context())
	if !ok {
		return nil, status.Error(codes.Internal, "bug: a stream without a peer")
	}
	h.mu.Lock()
	defer h.unlock()
	if h.closing {
		return nil, status.Error(codes.Unavailable, "stopping")
	}
	c := newChild(h.now(), s, hostOf(p.Addr), local(p.Addr))
	if err := h.door.enter(h.now(), c.host); err != nil {
		h.refused.add(err)
		return nil, err
	}
	h.children[c] = true
	h.wg.Add(1)
	return c, nil
}

// leave takes a child out, and all it had here.
func (h *Hub) leave(c *child) {
	defer h.wg.Done()
	h.mu.Lock()
	defer h.unlock()
	h.detach(c)
	delete(h.children, c)
	h.door.leave(c.host)
	switch {
	case c.seen == 0:
		h.refused.add(c.err)
	case c.err == nil:
		h.note(Left, c, "closed")
	default:
		h.note(Left, c, status.Convert(c.err).Message())
	}
}

// detach ends what a child stands for; a newer stream may stand for it already.
func (h *Hub) detach(c *child) {
	if c.left {
		return
	}
	c.left = true
	if c.seen > 0 {
		h.door.unname(c.host, c.identity)
	}
	for number := range c.views {
		h.unsubscribe(c, number)
	}
	if h.named[c.name] == c {
		delete(h.named, c.name)
	}
	if gone := c.gone && c.goodbye == ""; h.roster.lost(c, gone) {
		h.outbox.touch(h.now(), true)
		h.poke()
	}
}

// dismiss tells a child to go elsewhere.
func (h *Hub) dismiss(c *child, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.dismiss(reason)
}

// Goodbye tells children to go elsewhere and ends their streams; new ones are refused.
func (h *Hub) Goodbye(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closing = true
	for c := range h.children {
		c.dismiss(reason)
	}
}
