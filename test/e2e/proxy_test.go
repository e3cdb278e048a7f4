//go:build e2e

package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy passes connections on to one address, until it is cut: then it has none, and takes
// none until it is mended.
type proxy struct {
	addr, to string
	listener net.Listener
	serving  sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), to: to, listener: l, conns: map[net.Conn]bool{}}
	p.serving.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.sever(true)
		p.serving.Wait()
	})
	return p
}

func (p *proxy) serve() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", p.to)
		if err != nil || !p.add(from, to) {
			from.Close()
			if err == nil {
				to.Close()
			}
			continue
		}
		p.serving.Go(func() { p.carry(from, to) })
		p.serving.Go(func() { p.carry(to, from) })
	}
}

func (p *proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if !p.cut {
			p.conns[c] = true
		}
	}
	return !p.cut
}

func (p *proxy) carry(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	p.mu.Lock()
	defer p.mu.Unlock()
	to.Close()
	from.Close()
	delete(p.conns, to)
	delete(p.conns, from)
}

// sever cuts the proxy, or mends it.
func (p *proxy) sever(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	for c := range p.conns {
		if cut {
			c.Close()
		}
	}
}
