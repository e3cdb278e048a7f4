package hub

import (
	"context"
	"sync"
	"sync/atomic"
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
	Wall   func() int64                 // µs since 1970, to notice that the machine slept; nil: the system's

	Node      string                                                    // stamped on direct leaves' reports; empty: what the leaf's hello says
	Authorize func(ctx context.Context, hello *pb.Hello) (Guest, error) // asked at the hello and each 30 s; a status error refuses; nil: all are welcome, nobody in particular
	Observe   func(Event)                                               // nil: nobody looks
	Records   func(leaf string, r *pb.Records)                          // takes over what a child recorded; must not block; nil: that is dropped
	Bounds    Bounds
	Age       time.Duration // after each of it, ± 10 %, half of the streams are moved on; 0: DefaultAge; negative: never
}

const (
	helloWithin = 5 * time.Second // control-plane.md, who may do what
	stopWithin  = time.Second     // for goodbyes to go out
	sweepEach   = time.Second
)

// Hub serves children. Make it with New.
type Hub struct {
	config Config
	wake   chan struct{} // Run has something to do
	wg     sync.WaitGroup
	sent

	mu      sync.Mutex // guards what follows
	closing bool
	spread  time.Duration // what children come back within, when it closes
	door    door
	family
	demand
	roster roster
	outbox outbox
	notes
}

// sent counts what went out.
type sent struct{ updates, bytes atomic.Uint64 }

// family is the children, those that said hello by their keys.
type family struct {
	children map[*child]bool
	named    map[string]*child
}

// demand is the views that somebody has, or had until a minute ago.
type demand struct {
	views    map[string]*view
	unwanted []View // dropped before their time; the source has yet to hear
}

// notes are what Observe has yet to hear.
type notes struct {
	events  []Event
	refused tally // streams
	dropped tally // reports and states of leaves
	counts  Figures
	asked   map[askedOf]*question
	replies []reply
}

// tally counts what was turned away since that was last said.
type tally struct {
	count int
	last  string // why
}

func (t *tally) add(why error) { *t = tally{t.count + 1, status.Convert(why).Message()} }

// New makes a hub that serves while Run runs.
func New(c Config) *Hub {
	if c.Wall == nil {
		c.Wall = func() int64 { return time.Now().UnixMicro() }
	}
	return &Hub{
		config: c, wake: make(chan struct{}, 1), door: newDoor(c.Bounds), roster: newRoster(),
		family: family{map[*child]bool{}, map[string]*child{}}, demand: demand{views: map[string]*view{}},
		notes: notes{asked: map[askedOf]*question{}},
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

// refuse counts a stream that was turned away.
func (h *Hub) refuse(why error) {
	h.counts.Refused++
	h.refused.add(why)
}

// drop counts a report, or a part of one, that is not passed up.
func (h *Hub) drop(why error) {
	h.counts.Dropped++
	h.dropped.add(why)
}

func (h *Hub) now() int64 { return h.config.Now() }

func (h *Hub) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// note keeps an event until the lock is given back.
func (h *Hub) note(k EventKind, c *child, detail string) {
	h.events = append(h.events, Event{Kind: k, Child: c.name, Sort: c.sort, Detail: detail})
}

// unlock gives the lock back and says what happened meanwhile, and what was answered.
func (h *Hub) unlock() {
	events, replies := h.events, h.replies
	h.events, h.replies = nil, nil
	h.mu.Unlock()
	for _, r := range replies {
		r.to(r.answer)
	}
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
		h.refuse(err)
		return nil, err
	}
	c.write = func() { h.wg.Go(func() { h.write(c) }) }
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
		h.refuse(c.err)
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
	h.unanswered(c)
	if c.seen > 0 {
		h.door.unname(c.host, c.guest.Identity)
	}
	for number := range c.views {
		h.unsubscribe(c, number)
	}
	if h.named[c.key] == c {
		delete(h.named, c.key)
	}
	if gone := c.gone && c.goodbye == ""; h.roster.lost(c, gone) {
		h.outbox.touch(h.now(), true)
		h.poke()
	}
}

// Goodbye tells children to go elsewhere and ends their streams; new ones are refused. They come
// back at the pace at which another hub lets them in: a few are not kept waiting.
func (h *Hub) Goodbye(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closing = true
	h.spread = min(max(time.Duration(len(h.children))*time.Second/DefaultPerSecond, comeSoon), comeBack)
	for c := range h.children {
		c.dismiss(reason)
	}
}
