package cert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
)

const lookEach = time.Second // at files, while there are handshakes

// live are credentials of the newest files that could be used.
type live struct {
	files  Files
	make   func(material) *tls.Config
	latest atomic.Pointer[made]

	mu     sync.Mutex // of who looks; nobody waits for it
	looked time.Time
	bad    *material // what was found last and could not be used
}

type made struct {
	of     material
	config *tls.Config
	credentials.TransportCredentials
}

func newLive(f Files, config func(material) *tls.Config) (*live, error) {
	m, err := f.load()
	if err != nil {
		return nil, err
	}
	l := &live{files: f, make: config, looked: time.Now()}
	l.use(m)
	return l, nil
}

func (l *live) use(m material) {
	config := l.make(m)
	l.latest.Store(&made{m, config, credentials.NewTLS(config)})
}

// now are the newest.
func (l *live) now() *made {
	if l.mu.TryLock() {
		said := l.look()
		l.mu.Unlock()
		if said != nil && l.files.Said != nil {
			l.files.Said(said)
		}
	}
	return l.latest.Load()
}

// look reads the files again if it is time. Its error is news: the old ones stay in use.
func (l *live) look() error {
	if now := time.Now(); now.Sub(l.looked) < lookEach {
		return nil
	} else {
		l.looked = now
	}
	m, err := l.files.read()
	switch {
	case err == nil && m.equal(&l.latest.Load().of):
		l.bad = nil
		return nil
	case l.bad != nil && m.equal(l.bad):
		return nil
	case err == nil:
		err = m.parse(l.files)
	}
	if err != nil {
		l.bad = &m
		return errors.Join(errors.New("TLS: the new files cannot be used, the old ones stay in use"), err)
	}
	l.bad = nil
	l.use(m)
	return nil
}

func (m *material) equal(o *material) bool {
	return slices.EqualFunc(m.bytes[:], o.bytes[:], bytes.Equal)
}

// ClientHandshake shakes hands by the newest files.
func (l *live) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return l.now().ClientHandshake(ctx, authority, conn)
}

// ServerHandshake shakes hands by the newest files.
func (l *live) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return l.now().ServerHandshake(conn)
}

// Info tells of TLS.
func (l *live) Info() credentials.ProtocolInfo { return l.latest.Load().Info() }

// Clone is the same: there is nothing to change.
func (l *live) Clone() credentials.TransportCredentials { return l }

// OverrideServerName is for nobody: Client takes the name.
func (l *live) OverrideServerName(string) error {
	return errors.New("bug: the server's name is given when credentials are made")
}
