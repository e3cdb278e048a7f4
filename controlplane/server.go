package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/controlplane/rpc"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	maxMessage   = 40 << 20 // bytes: a catalog of 32 MiB, and what is around it
	minKeepalive = 5 * time.Second
	stopWithin   = 3 * time.Second // for calls that are under way
	sweepEvery   = time.Minute
)

// Server is one running replica. Make it with New, then run it.
type Server struct {
	config    Config
	log       hclog.Logger
	store     *store.Store
	listeners []net.Listener
	server    *grpc.Server
	hub       *hub.Hub
	origin    *origin
	follower  *follower
	judge     *judge
}

// New opens the store and listens. Run serves, and ends what New began.
func New(ctx context.Context, c Config) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	listeners, err := c.addresses().Open()
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, store.Config{Endpoints: c.EtcdEndpoints, DataDir: c.DataDir})
	if err != nil {
		return nil, errors.Join(err, hub.CloseAll(listeners))
	}
	s := &Server{config: c, log: c.Logger, store: st, listeners: listeners}
	s.wire()
	return s, nil
}

// wire makes the parts and joins them.
func (s *Server) wire() {
	start := time.Now()
	now := func() int64 { return time.Since(start).Microseconds() + 1 }
	s.origin = newOrigin()
	s.judge = &judge{
		term: s.store.Term, now: now, origin: s.origin, log: s.log.Named("fleet"),
		arrivals: make(chan arrival, maxArrivals), wake: make(chan struct{}, 1),
	}
	s.follower = &follower{
		store: s.store, namespace: s.config.Namespace, now: now, origin: s.origin, judge: s.judge.apply,
		log: s.log.Named("catalog"), wake: make(chan struct{}, 1),
	}
	s.hub = hub.New(hub.Config{Source: s.origin, Up: s.judge.report, Now: now, Authorize: s.authorize, Observe: s.observe})
	s.judge.grant = s.hub.Grant
	s.server = grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
		MinTime: minKeepalive, PermitWithoutStream: true,
	}))
	s.hub.Register(s.server)
	rpc.Register(s.server, rpc.Config{
		Store: s.store, Namespace: s.config.Namespace, Version: s.config.Version,
		Now: now, Live: s.origin.state, Leaves: s.hub.Leaves,
	})
}

// authorize refuses streams while no head was read: an empty cache would look like an
// empty catalog. Whoever reaches a loopback address or the socket is welcome.
func (s *Server) authorize(context.Context, *pb.Hello) (string, error) {
	if !s.origin.ready() {
		return "", status.Error(codes.Unavailable, "not ready: etcd was not reached yet")
	}
	return "", nil
}

// observe logs what changed below.
func (s *Server) observe(e hub.Event) {
	level := hclog.Info
	if e.Bad() {
		level = hclog.Warn
	}
	s.log.Log(level, "child "+e.Kind.String(), "leaf", e.Child, "detail", e.Detail)
}

// Addr is the TCP address that it listens on, or else the socket's.
func (s *Server) Addr() net.Addr { return s.listeners[0].Addr() }

// Run serves until ctx ends, then tells children to go elsewhere and waits for all it started.
func (s *Server) Run(ctx context.Context) error {
	asked := ctx
	ctx, cancel := context.WithCancelCause(asked)
	defer cancel(nil)
	var parts, serving sync.WaitGroup
	for _, l := range s.listeners {
		s.log.Info("serving", "address", l.Addr().String(), "namespace", s.config.Namespace)
		serving.Go(func() {
			if err := s.server.Serve(l); err != nil {
				cancel(fmt.Errorf("serve %s: %w", l.Addr(), err))
			}
		})
	}
	for _, part := range []func(context.Context){s.follower.watch, s.follower.load, s.judge.run, s.sweep, s.publish, s.guard(cancel)} {
		parts.Go(func() { part(ctx) })
	}
	err := s.hub.Run(ctx)
	parts.Wait()
	s.stop()
	serving.Wait()
	s.log.Info("stopped")
	if asked.Err() == nil {
		err = errors.Join(err, context.Cause(ctx)) // a part failed
	}
	return errors.Join(err, s.store.Close())
}

// stop lets calls that are under way end, for a while.
func (s *Server) stop() {
	late := time.AfterFunc(stopWithin, s.server.Stop)
	defer late.Stop()
	s.server.GracefulStop()
}

func (s *Server) publish(ctx context.Context) { s.origin.run(ctx, s.hub) }

// guard ends the replica when its embedded etcd ended by itself.
func (s *Server) guard(cancel context.CancelCauseFunc) func(context.Context) {
	return func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-s.store.Ended():
			cancel(errors.New("the embedded etcd stopped"))
		}
	}
}

// sweep deletes what ran out and what nobody names, each minute.
func (s *Server) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if err := s.store.Sweep(ctx, s.config.Namespace, now); err != nil && !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
				s.log.Warn("sweep", "error", err)
			}
		}
	}
}
