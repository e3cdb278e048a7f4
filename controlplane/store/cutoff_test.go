package store

import (
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
)

// way is between a replica and its etcd: bytes pass until it is cut, and then wait.
type way struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	free  *sync.Cond
	cut   bool
	conns []net.Conn
	parts sync.WaitGroup
}

// startWay gives a way to a unix socket, and its address.
func startWay(t *testing.T, to string) (*way, string) {
	t.Helper()
	path := filepath.Join(shortDir(t), "w")
	l, err := net.Listen("unix", path)
	must(t, err)
	w := &way{listener: l, to: to}
	w.free = sync.NewCond(&w.mu)
	w.parts.Go(w.accept)
	t.Cleanup(w.close)
	return w, "unix://" + path
}

func (w *way) accept() {
	for {
		in, err := w.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("unix", w.to)
		if err != nil {
			in.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, in, out)
		w.mu.Unlock()
		w.parts.Go(func() { w.pass(out, in) })
		w.parts.Go(func() { w.pass(in, out) })
	}
}

func (w *way) pass(to, from net.Conn) {
	defer to.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		w.mu.Lock()
		for w.cut {
			w.free.Wait()
		}
		w.mu.Unlock()
		if _, failed := to.Write(b[:n]); err != nil || failed != nil {
			return
		}
	}
}

// set cuts it, or lets what waits pass.
func (w *way) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	w.free.Broadcast()
}

func (w *way) close() {
	w.set(false)
	closers := []io.Closer{w.listener}
	w.mu.Lock()
	for _, c := range w.conns {
		closers = append(closers, c)
	}
	w.mu.Unlock()
	for _, c := range closers {
		c.Close()
	}
	w.parts.Wait()
}

// Scenario 51: renewals hang, on a connection that neither answers nor fails.
func TestALeaderThatIsCutOffFromEtcdHoldsNothingWhenAnotherLeads(t *testing.T) {
	t.Parallel()
	e := startExternal(t)
	w, address := startWay(t, filepath.Join(e.dir, "s"))
	a, b := dial(t, address), e.dial(t)
	a.pace, b.pace = quick, quick
	a.opTimeout = quick.stop
	first := campaign(t, a, "a")
	old := take(t, first.tenures, "a tenure")
	second := campaign(t, b, "b")
	w.set(true)
	next := take(t, second.tenures, "a tenure")
	if old.Holds() {
		t.Fatal("two lead")
	}
	take(t, first.ended, "the end of what was cut off")
	w.set(false)
	second.stop()
	again := take(t, first.tenures, "a tenure after the cut")
	if again.Term() <= next.Term() {
		t.Fatalf("term %d after %d", again.Term(), next.Term())
	}
}
