// Package store keeps catalogs in etcd: numbered immutable revisions, a head that says
// which of them is served, operators' overrides, and an audit of what people did.
//
// Every act is one transaction that compares what it was decided on: a writer that lost
// a race looks again, and nothing is lost or applied twice. The store judges no content;
// controlplane/rpc compiles what it publishes. Nothing else imports etcd.
package store

import (
	"context"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

const (
	dialTimeout      = 2 * time.Second
	keepaliveTime    = 5 * time.Second
	keepaliveTimeout = 3 * time.Second
	opTimeout        = 3 * time.Second // one request to etcd; electing another leader takes it about one
)

// Config says where etcd is: Endpoints of a cluster, or DataDir for one member inside
// this process, which no other process can reach.
type Config struct {
	Endpoints []string
	DataDir   string
}

// Check returns every fault at once.
func (c Config) Check() error {
	switch {
	case len(c.Endpoints) == 0 && c.DataDir == "":
		return errors.New("neither etcd endpoints nor a data directory: give -etcd-endpoints or -data-dir")
	case len(c.Endpoints) > 0 && c.DataDir != "":
		return errors.New("both etcd endpoints and a data directory: choose one")
	}
	return nil
}

// Store is one connection to etcd. It is safe for concurrent use. End it with Close.
type Store struct {
	client *clientv3.Client
	member *member // nil: etcd is elsewhere

	opTimeout    time.Duration
	confirmEvery time.Duration

	closing sync.Once
	closed  error
}

// Open connects. A cluster that does not answer is no error here: each call says so, and
// heals by itself. An embedded member is up when Open returns.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.DataDir != "" {
		return openMember(ctx, c.DataDir)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            c.Endpoints,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    keepaliveTime,
		DialKeepAliveTimeout: keepaliveTimeout,
		Logger:               zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: minBackoff, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxBackoff},
			MinConnectTimeout: dialTimeout,
		})},
	})
	if err != nil {
		return nil, classify("connect to etcd", err)
	}
	return newStore(client, nil), nil
}

func openMember(ctx context.Context, dir string) (*Store, error) {
	m, err := startMember(ctx, dir)
	if err != nil {
		return nil, err
	}
	return newStore(m.client(), m), nil
}

func newStore(c *clientv3.Client, m *member) *Store {
	return &Store{client: c, member: m, opTimeout: opTimeout, confirmEvery: confirmEvery}
}

// Close ends every call and watch, and an embedded member.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	err := s.client.Close()
	if errors.Is(err, context.Canceled) {
		err = nil // what an in-process client says of its own end
	}
	if s.member != nil {
		err = errors.Join(err, s.member.close())
	}
	return err
}
