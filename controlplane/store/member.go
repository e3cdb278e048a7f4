package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/lease"
	"go.uber.org/zap"
)

const (
	memberTickMS     = 10 // one member elects itself: there is no network to be patient with
	memberElectionMS = 100
	memberQuota      = 2 << 30 // bytes
	memberRetention  = "1h"    // of etcd's own history; revisions are keys and stay
)

// member is an etcd member inside this process. It listens nowhere.
type member struct {
	etcd *embed.Etcd
	lock *os.File
}

func startMember(ctx context.Context, dir string, c *embed.Config) (*member, error) {
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	e, err := embed.StartEtcd(c)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start etcd in %s: %w", dir, err), lock.Close())
	}
	m := &member{etcd: e, lock: lock}
	select {
	case <-e.Server.ReadyNotify():
		return m, nil
	case <-e.Server.StopNotify():
		err = errors.New("it stopped")
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(fmt.Errorf("start etcd in %s: %w", dir, err), m.close())
}

func memberConfig(dir string) *embed.Config {
	c := embed.NewConfig()
	c.Name = "pointsman"
	c.Dir = filepath.Join(dir, "etcd")
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.ListenPeerUrls, c.ListenClientUrls = nil, nil // advertised names are identity only
	c.TickMs, c.ElectionMs = memberTickMS, memberElectionMS
	c.QuotaBackendBytes = memberQuota
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModePeriodic, memberRetention
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	return c
}

// lockDir makes dir if it must, closes it to others, and holds it against a second process.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("data directory %s is in use by another process", dir), f.Close())
	}
	return f, nil
}

func (m *member) client() *clientv3.Client { return v3client.New(m.etcd.Server) }

func (m *member) renew(ctx context.Context, id clientv3.LeaseID) (int64, error) {
	ttl, err := m.etcd.Server.LeaseRenew(ctx, lease.LeaseID(id))
	if errors.Is(err, lease.ErrLeaseNotFound) {
		return 0, nil
	}
	return ttl, err
}

func (m *member) close() error {
	m.etcd.Close()
	return m.lock.Close()
}

// Ended is closed when the embedded member stopped by itself; nil without one.
func (s *Store) Ended() <-chan struct{} {
	if s.member == nil {
		return nil
	}
	return s.member.etcd.Server.StopNotify()
}
