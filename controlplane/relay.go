package controlplane

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/uplink"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	relinkFirst = 200 * time.Millisecond // and as much again at most; it doubles: replicas are few
	relinkLast  = 5 * time.Second
	goodStream  = 5 * time.Second // so long, and the next pause is the first again
)

// relay is a replica's way to whoever leads: the fleet's track, grants and questions come
// down it, reports go up. While this replica leads itself, or nobody is known to, there is
// no stream, and the overlay that is held is served on, ageing.
type relay struct {
	self   store.Candidate
	now    func() int64
	origin *origin
	hub    *hub.Hub
	leads  func() bool
	log    hclog.Logger
	wake   chan struct{}
	uplinks

	mu     sync.Mutex
	leader *store.Leader
	heard  int64 // when the fleet's origin was last heard, by links that ended and by this replica's own judge
}

// uplinks are the streams to leaders, one after another.
type uplinks struct {
	hello   *pb.Hello
	options func(address string) ([]grpc.DialOption, error)
	link    atomic.Pointer[uplink.Link]
	down    atomic.Bool // that there is none was said
	breaks  int         // streams to the same leader that broke; run's alone
}

// follow takes who leads from etcd, until ctx ends.
func (r *relay) follow(ctx context.Context, e elections) {
	for ctx.Err() == nil {
		if err := e.follow(ctx, r.changed); err != nil && ctx.Err() == nil {
			r.log.Warn("who leads is not known: trying again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(campaignAgain):
		}
	}
}

func (r *relay) changed(l *store.Leader) {
	r.mu.Lock()
	r.leader = l
	r.mu.Unlock()
	r.turned()
}

// turned takes that who leads changed, or that this replica began or ended to.
func (r *relay) turned() {
	r.origin.change(func() { r.origin.live.Leader = leaderOf(r.known()) })
	r.poke()
}

// known is who leads. The key of this replica's own tenure outlives that by its lease.
func (r *relay) known() *store.Leader {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mine(r.leader) && !r.leads() {
		return nil
	}
	return r.leader
}

func leaderOf(l *store.Leader) *pb.Leader {
	if l == nil {
		return nil
	}
	return &pb.Leader{Replica: l.Replica, Address: l.Address, Term: l.Term, Since: timestamppb.New(l.Since)}
}

func (r *relay) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// other is the leader when it is another replica; nil: it is this one, or nobody.
func (r *relay) other() *store.Leader {
	if r.leads() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mine(r.leader) {
		return nil
	}
	return r.leader
}

// mine tells whether a leader is this replica.
func (r *relay) mine(l *store.Leader) bool {
	return l != nil && l.Replica == r.self.Replica && l.Address == r.self.Address
}

// run keeps a stream to the leader until ctx ends. A stream that ended may still wait for
// its parent to take the last of it, for a second: the next does not wait for that, but the
// one after does.
func (r *relay) run(ctx context.Context) {
	var ending sync.WaitGroup
	defer ending.Wait()
	places := make(chan struct{}, 2)
	for ctx.Err() == nil {
		to := r.other()
		if to == nil {
			select {
			case <-ctx.Done():
			case <-r.wake:
			}
			continue
		}
		places <- struct{}{} // waited for a second at most
		r.stream(ctx, to, func(run func()) {
			ending.Go(func() {
				defer func() { <-places }()
				run()
			})
		})
	}
}

// stream keeps one stream until it breaks, or another replica leads.
func (r *relay) stream(ctx context.Context, to *store.Leader, start func(func())) {
	streaming, cancel := context.WithCancel(ctx)
	defer cancel()
	lost := make(chan struct{}, 1)
	link, err := r.dial(to.Address, lost)
	if err != nil {
		r.log.Error("the leader cannot be reached", "leader", to.Replica, "address", to.Address, "error", err)
		start(func() {})
		r.pause(ctx, to)
		return
	}
	begun := r.now()
	r.link.Store(link)
	start(func() { _ = link.Run(streaming) }) // it ends with its context
	r.wait(ctx, to, lost)
	r.link.Store(nil)
	r.hear(originHeard(link, r.now()))
	if r.now()-begun > goodStream.Microseconds() {
		r.breaks = 0
	}
	cancel()
	r.pause(ctx, to)
}

func (r *relay) dial(address string, lost chan struct{}) (*uplink.Link, error) {
	options, err := r.options(address)
	if err != nil {
		return nil, err
	}
	return uplink.New(uplink.Config{
		Parents: []string{address}, Hello: r.hello, Now: r.now, Dial: options,
		Observe: func(e uplink.Event) { r.observe(e, lost) },
	}, &downward{r})
}

// wait returns when the stream to a leader is of no use any more.
func (r *relay) wait(ctx context.Context, to *store.Leader, lost <-chan struct{}) {
	for r.still(to) {
		select {
		case <-ctx.Done():
			return
		case <-lost:
			return
		case <-r.wake:
		}
	}
}

// still tells whether the same replica leads in the same term.
func (r *relay) still(to *store.Leader) bool {
	now := r.other()
	return now != nil && *now == *to
}

// pause waits before the next stream to the same leader; another one is not waited for.
func (r *relay) pause(ctx context.Context, to *store.Leader) {
	pause := min(relinkFirst<<min(r.breaks, 10), relinkLast)
	timer := time.NewTimer(pause + rand.N(pause))
	defer timer.Stop()
	for r.still(to) {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			r.breaks++
			return
		case <-r.wake:
		}
	}
	r.breaks = 0
}

// observe logs what changed above. A new leader knows nothing of the leaves here yet.
func (r *relay) observe(e uplink.Event, lost chan struct{}) {
	switch e.Kind {
	case uplink.Connected:
		r.down.Store(false)
		r.hub.Resend()
		r.log.Info("following", "leader", e.Parent)
	case uplink.Lost:
		switch {
		case errors.Is(e.Err, context.Canceled):
		case e.Orderly():
			r.log.Info("the stream to the leader ended", "leader", e.Parent, "why", e.Err)
		case !r.down.Swap(true):
			r.log.Warn("no stream to the leader: the fleet's state ages", "leader", e.Parent, "error", e.Err)
		}
		select {
		case lost <- struct{}{}:
		default:
		}
	}
}

// up passes a report to the leader. Without a stream it is lost: a gap, never a zero.
func (r *relay) up(at int64, m *pb.Report) {
	if link := r.link.Load(); link != nil {
		link.Report(at, m)
	}
}

// hear notes that the fleet's origin was heard at a time.
func (r *relay) hear(at int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = max(r.heard, at)
}

// age is how long ago the fleet's origin was heard; false: never.
func (r *relay) age() (us int64, ever bool) {
	now := r.now()
	if r.leads() {
		r.hear(now)
		return 0, true
	}
	if link := r.link.Load(); link != nil {
		r.hear(originHeard(link, now))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, now-r.heard), r.heard != 0
}

// originHeard is when a link last heard the fleet's origin; 0: never.
func originHeard(link *uplink.Link, now int64) int64 {
	for _, h := range link.Status().Heads {
		if h.GetTrack() == pb.Track_TRACK_FLEET {
			return max(1, now-h.GetAgeUs())
		}
	}
	return 0
}

// downward takes what comes down from the leader.
type downward struct{ *relay }

// Apply serves a state of the fleet as the leader said it: its version and its ages.
func (d *downward) Apply(_ uint32, s *wire.State, _ bool) ([]*pb.Unusable, error) {
	if s.Track() == pb.Track_TRACK_FLEET {
		d.origin.pass(s)
	}
	return nil, nil
}

// Grant passes a grant on; what is left of it is for the hub to say.
func (d *downward) Grant(dated int64, g *pb.Grant) { d.hub.Grant(dated, g) }

// Ask passes a question on to the leaf that it is for.
func (d *downward) Ask(q *pb.Question, answer func(*pb.Answer)) { d.hub.Pass(q, answer) }
