// Package decide serves decisions to programs in languages that have no library yet. Each is made
// by a library in the agent's process, one for each caller's identity, under all its rules:
// attempts, retries, breakers, reports. The program sends the request itself.
//
// It adds no judgement of its own. What a program forgets is swept: an attempt that is never
// settled, a call that is never picked again. That counts against nobody.
//
//	Pick ─▶ call ── clientlib.Do ──▶ attempt ─▶ Pick's answer … FirstToken … Settle ─▶ again?
package decide

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Config is what the service decides by. All of it is required.
type Config struct {
	Open   func(ctx context.Context, identity string) (*clientlib.Client, error) // a library that sees what the identity may
	Caller func(ctx context.Context) (identity string)
	May    func(identity, tenant string) error // act for it; a status error says why not
}

const (
	mostCalls  = 4096
	mostCores  = 64
	openWithin = 15 * time.Second
	idleAfter  = 10 * time.Minute // a library that nobody asks is closed
	sweepEvery = time.Minute
)

// Service decides while Run runs.
type Service struct {
	pb.UnimplementedDecisionServiceServer
	config Config
	ctx    context.Context // of all calls
	stop   context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	stopped  bool
	calls    map[string]*call
	attempts map[string]*attempt
	cores    map[string]*core // by identity
}

// core is a library, once it is open.
type core struct {
	ready  chan struct{}
	client *clientlib.Client
	err    error
	calls  int
	usedAt time.Time
}

// New makes a service.
func New(c Config) *Service {
	s := &Service{config: c, calls: map[string]*call{}, attempts: map[string]*attempt{}, cores: map[string]*core{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Register adds it to a server.
func (s *Service) Register(to *grpc.Server) { pb.RegisterDecisionServiceServer(to, s) }

// Run serves until ctx ends, then ends all calls and closes the libraries.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.close()
			return
		case <-tick.C:
			s.sweep()
		}
	}
}

func (s *Service) close() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.stop()
	s.wg.Wait()
	for _, c := range s.cores { // nobody is left who would change it
		c.end()
	}
}

func (c *core) end() {
	<-c.ready
	if c.client != nil {
		c.client.Close()
	}
}

// sweep closes the libraries that nobody has asked for long.
func (s *Service) sweep() {
	s.mu.Lock()
	var idle []*core
	for identity, c := range s.cores {
		if c.calls == 0 && time.Since(c.usedAt) >= idleAfter {
			idle = append(idle, c)
			delete(s.cores, identity)
		}
	}
	s.mu.Unlock()
	for _, c := range idle {
		c.end()
	}
}

// core is the library of an identity, opened at its first call. Give it back with done.
func (s *Service) core(ctx context.Context, identity string) (*core, error) {
	c, err := s.enter(identity)
	if err != nil {
		return nil, err
	}
	select {
	case <-c.ready:
	case <-ctx.Done():
		s.done(c)
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if c.err != nil {
		s.done(c)
		return nil, status.Errorf(codes.Unavailable, "nothing to decide by yet: %v", c.err)
	}
	return c, nil
}

func (s *Service) enter(identity string) (*core, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cores[identity]
	switch {
	case s.stopped:
		return nil, status.Error(codes.Unavailable, "stopping")
	case len(s.calls) >= mostCalls:
		return nil, busy("%d calls are under way on this node, as many as may be", mostCalls)
	case c == nil && len(s.cores) >= mostCores:
		return nil, busy("%d different users decide on this node, as many as may", mostCores)
	case c == nil:
		c = &core{ready: make(chan struct{})}
		s.cores[identity] = c
		s.wg.Go(func() { s.open(identity, c) })
	}
	c.calls++
	c.usedAt = time.Now()
	return c, nil
}

// open opens a library. One that could not be is opened anew for the next call.
func (s *Service) open(identity string, c *core) {
	ctx, cancel := context.WithTimeout(s.ctx, openWithin)
	defer cancel()
	c.client, c.err = s.config.Open(ctx, identity)
	if c.err != nil {
		s.mu.Lock()
		delete(s.cores, identity)
		s.mu.Unlock()
	}
	close(c.ready)
}

func (s *Service) done(c *core) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.calls--
	c.usedAt = time.Now()
}

// name is one that nobody guesses.
func name() string { return rand.Text() }
