package store

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// external is a member of its own, reached by a unix socket, that can be stopped.
type external struct {
	dir   string
	tune  func(*embed.Config) // nil: as members are
	etcd  *embed.Etcd
	proto string // unix or unixs
}

func startExternal(t *testing.T) *external {
	t.Helper()
	return startExternalWith(t, nil)
}

func startExternalWith(t *testing.T, tune func(*embed.Config)) *external {
	t.Helper()
	e := &external{dir: shortDir(t), tune: tune, proto: "unix"}
	e.start(t)
	t.Cleanup(e.stop)
	return e
}

// shortDir is for sockets, whose paths must be short.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (e *external) address() string { return e.proto + "://" + filepath.Join(e.dir, "s") }

func (e *external) start(t *testing.T) {
	t.Helper()
	c := memberConfig(e.dir)
	u, err := url.Parse(e.address())
	if err != nil {
		t.Fatal(err)
	}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{*u}, []url.URL{*u}
	c.UnsafeNoFsync = true
	if e.tune != nil {
		e.tune(c)
	}
	if e.etcd, err = embed.StartEtcd(c); err != nil {
		t.Fatal(err)
	}
	<-e.etcd.Server.ReadyNotify()
}

func (e *external) stop() {
	if e.etcd != nil {
		e.etcd.Close()
	}
	e.etcd = nil
}

func (e *external) dial(t *testing.T) *Store {
	t.Helper()
	return dial(t, e.address())
}

func dial(t *testing.T, addresses ...string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Endpoints: addresses})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.confirmEvery, s.opTimeout, s.pace = 50*time.Millisecond, 10*time.Second, lasting
	return s
}
