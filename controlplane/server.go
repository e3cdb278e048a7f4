package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/agent/health"
	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/controlplane/access"
	"github.com/pointsman/pointsman/controlplane/rpc"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	maxMessage = 40 << 20        // bytes: a catalog of 32 MiB, and what is around it
	stopWithin = 3 * time.Second // for calls that are under way
)

// Server is one running replica. Make it with New, then run it.
type Server struct {
	config    Config
	self      store.Candidate
	log       hclog.Logger
	store     *store.Store
	listeners []net.Listener
	server    *grpc.Server
	follower  *follower
	calls     *calls
	guard     *access.Guard
	peers     *cert.Dialer
	stopping  chan struct{} // closed when it does
	*roles
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
	st, err := store.Open(ctx, c.store())
	if err != nil {
		return nil, errors.Join(err, hub.CloseAll(listeners))
	}
	s := &Server{config: c, self: c.candidate(listeners[0].Addr()), log: c.Logger, store: st, listeners: listeners, stopping: make(chan struct{})}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, hub.CloseAll(listeners), st.Close())
	}
	return s, nil
}

// open makes the door, and then all behind it. The folder of an embedded etcd exists by now.
func (s *Server) open() error {
	token, err := s.config.addresses().Token()
	if err != nil {
		return fmt.Errorf("the token of this host's user: %w: name another file for it (-local-token-file)", err)
	}
	s.guard = access.New(access.Config{
		Store: s.store, Namespace: s.config.Namespace, Tenants: s.tenants, Token: token, TokenPath: s.config.tokenFile(),
		Changed: func() { s.origin.recut() }, Log: s.log.Named("access"),
	})
	if s.peers, err = s.config.peers(); err != nil {
		return err
	}
	door, err := s.config.addresses().Credentials(s.guard.Failed)
	if err != nil {
		return err
	}
	s.server = grpc.NewServer(slices.Concat(hub.ServerOptions(), s.guard.Options(), []grpc.ServerOption{
		grpc.Creds(door), grpc.MaxRecvMsgSize(maxMessage),
	})...)
	s.wire()
	return nil
}

// options are how another replica is reached.
func (s *Server) options(address string) ([]grpc.DialOption, error) {
	return s.peers.Options(address), nil
}

func (s *Server) dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, append(s.peers.Options(address), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))...)
}

// tenants are those of the catalog that is served.
func (s *Server) tenants() []*pb.Tenant { return s.origin.tenants() }

// wire makes the parts and joins them.
func (s *Server) wire() {
	start := time.Now()
	now := func() int64 { return time.Since(start).Microseconds() + 1 }
	s.roles = newRoles(joints{
		self: s.self, namespace: s.config.Namespace, version: s.config.Version, now: now,
		elections: etcdElections{s.store, s.self, s.config.Namespace}, ledger: s.store,
		lookup: net.DefaultResolver.LookupHost, authorize: s.authorize, options: s.options, log: s.log,
	})
	s.follower = &follower{
		store: s.store, namespace: s.config.Namespace, now: now, origin: s.origin, judge: s.judge.apply,
		log: s.log.Named("catalog"), wake: make(chan struct{}, 1),
	}
	s.origin.may = s.guard.Workloads
	s.calls = &calls{other: s.relay.other, dial: s.dial, log: s.log.Named("relay")}
	s.hub.Register(s.server)
	health.Register(s.server, s.Ready)
	rpc.Register(s.server, rpc.Config{
		Store: s.store, Namespace: s.config.Namespace, Version: s.config.Version,
		Now: now, Live: s.origin.state, Leaves: s.hub.Leaves,
		Ask: s.hub.Ask, Leader: s.calls.leader, Changed: s.origin.next,
		Access: s.guard, Stopping: s.stopping,
	})
}

// authorize says who a child is. It refuses streams while no head was read: an empty cache
// would look like an empty catalog.
func (s *Server) authorize(ctx context.Context, hello *pb.Hello) (hub.Guest, error) {
	if !s.origin.ready() {
		return hub.Guest{}, status.Error(codes.Unavailable, "not ready: etcd was not reached yet")
	}
	g, err := s.guard.Join(ctx, hello)
	if err != nil {
		return hub.Guest{}, err
	}
	return g, s.awaitsLeading(ctx, hello)
}

// Addr is the TCP address that it listens on, or else the socket's.
func (s *Server) Addr() net.Addr { return s.listeners[0].Addr() }

// Run serves until ctx ends. Then it resigns, so that another replica leads, tells children
// to go elsewhere, and waits for all it started.
func (s *Server) Run(ctx context.Context) error {
	asked := ctx
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(asked))
	defer cancel(nil)
	leading, resign := context.WithCancel(ctx)
	defer resign()
	var parts, leader, serving sync.WaitGroup
	s.serve(&serving, cancel)
	leader.Go(func() { s.leadership.campaign(leading) })
	for _, part := range append(s.parts(), s.follower.watch, s.follower.load, s.watchRights, s.ended(cancel)) {
		parts.Go(func() { part(ctx) })
	}
	parts.Go(func() { cancel(s.hub.Run(ctx)) })
	select {
	case <-asked.Done():
	case <-ctx.Done():
	}
	close(s.stopping)
	resign()
	leader.Wait()
	cause := context.Cause(ctx) // a part failed
	cancel(nil)
	parts.Wait()
	s.stop()
	serving.Wait()
	s.log.Info("stopped")
	return errors.Join(cause, s.calls.close(), s.store.Close())
}

func (s *Server) serve(serving *sync.WaitGroup, failed func(error)) {
	for _, l := range s.listeners {
		s.log.Info("serving", "address", l.Addr().String(), "namespace", s.config.Namespace, "replica", s.self.Replica)
		serving.Go(func() {
			if err := s.server.Serve(l); err != nil {
				failed(fmt.Errorf("serve %s: %w", l.Addr(), err))
			}
		})
	}
}

// stop lets calls that are under way end, for a while.
func (s *Server) stop() {
	late := time.AfterFunc(stopWithin, s.server.Stop)
	defer late.Stop()
	s.server.GracefulStop()
}

// watchRights follows who may do what, until ctx ends.
func (s *Server) watchRights(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.guard.Run(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("who may do what is not known: trying again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(campaignAgain):
		}
	}
}

// ended ends the replica when its embedded etcd ended by itself.
func (s *Server) ended(failed func(error)) func(context.Context) {
	return func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-s.store.Ended():
			failed(errors.New("the embedded etcd stopped"))
		}
	}
}
