// Package store keeps catalogs in etcd: numbered immutable revisions, a head that says
// which of them is served, operators' overrides, who may do what, an audit of what people did, and
// events of the fleet. It elects the leader among replicas, and fences what that writes.
//
// Every act is one transaction that compares what it was decided on: a writer that lost
// a race looks again, and nothing is lost or applied twice. Whoever reads looks at one moment, by
// a majority; watches are hints that it is time to look. Every request is bounded in time. The store
// judges no content and no permission: controlplane/rpc compiles what it publishes, controlplane/access
// decides who may. Nothing else imports etcd.
package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	dialTimeout      = 2 * time.Second
	keepaliveTime    = 5 * time.Second
	keepaliveTimeout = 3 * time.Second
	opTimeout        = 3 * time.Second // one request to etcd; electing another leader takes it about one

	defaultNamespace = "default"
)

// Config says where etcd is: Endpoints of a cluster, or DataDir for one member inside
// this process, which no other process can reach.
type Config struct {
	Endpoints []string
	DataDir   string
	TLS       *tls.Config // to Endpoints; nil: plain text
	Namespace string      // whose leader is elected; empty: "default"
	// Audited, which may be nil, hears of each record that this process committed, with
	// its hash: written elsewhere, it shows whether the store's own chain was made anew.
	Audited func(*pb.AuditRecord, []byte)
}

// Check returns every fault at once.
func (c Config) Check() error {
	switch {
	case len(c.Endpoints) == 0 && c.DataDir == "":
		return errors.New("neither etcd endpoints nor a data directory: give -etcd-endpoints or -data-dir")
	case len(c.Endpoints) > 0 && c.DataDir != "":
		return errors.New("both etcd endpoints and a data directory: choose one")
	case c.DataDir != "" && c.TLS != nil:
		return errors.New("TLS to an etcd inside this process: give it with -etcd-endpoints only")
	}
	return CheckNamespace(c.namespace())
}

func (c Config) namespace() string { return cmp.Or(c.Namespace, defaultNamespace) }

// Store is one connection to etcd. It is safe for concurrent use. End it with Close.
type Store struct {
	config Config
	client *clientv3.Client
	member *member // nil: etcd is elsewhere
	renew  renewal

	now          func() time.Time
	opTimeout    time.Duration
	confirmEvery time.Duration
	pace         pace

	behind  behind
	counts  counts
	closing sync.Once
	closed  error
}

// Open connects. A cluster that does not answer is no error here: each call says so, and
// heals by itself. An embedded member is up when Open returns.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	s := &Store{config: c, now: time.Now, opTimeout: opTimeout, confirmEvery: confirmEvery, pace: defaultPace}
	if c.DataDir != "" {
		return s, s.openMember(ctx)
	}
	return s, s.connect()
}

func (s *Store) connect() error {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            s.config.Endpoints,
		TLS:                  s.config.TLS,
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
		return classify("connect to etcd", err)
	}
	s.client, s.renew = client, renewOver(client.ActiveConnection())
	return nil
}

func (s *Store) openMember(ctx context.Context) error {
	m, err := startMember(ctx, s.config.DataDir, memberConfig(s.config.DataDir))
	if err != nil {
		return err
	}
	s.member, s.client, s.renew = m, m.client(), m.renew
	return nil
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
