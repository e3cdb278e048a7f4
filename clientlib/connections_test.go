package clientlib

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/pointsman/pointsman/clientlib/route"
)

// network is one name that leads to one of several servers.
type network struct {
	to    atomic.Pointer[bufconn.Listener]
	open  atomic.Int64 // connections
	dials atomic.Int64
}

type networkConn struct {
	net.Conn
	close func()
}

func (c *networkConn) Close() error {
	c.close()
	return c.Conn.Close()
}

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	c, err := n.to.Load().DialContext(ctx)
	if err != nil {
		return nil, err
	}
	n.open.Add(1)
	n.dials.Add(1)
	return &networkConn{c, sync.OnceFunc(func() { n.open.Add(-1) })}, nil
}

// serve starts a server in memory, until the test's end.
func serve(t *testing.T, h http.HandlerFunc) *bufconn.Listener {
	l := bufconn.Listen(64 << 10)
	server := &http.Server{Handler: h}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return l
}

// says is a server that answers with its name.
func says(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }
}

func (n *network) connections(t *testing.T) *connections {
	s := &connections{dial: n.dial}
	s.renew(0)
	t.Cleanup(s.close)
	return s
}

// askOnce is the answer to one request.
func askOnce(t *testing.T, s http.RoundTripper) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a.example/", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestRequestsGoToWhereANameLeadsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{}
		n.to.Store(serve(t, says("before")))
		s := n.connections(t)
		begun := time.Now()
		askOnce(t, s)
		n.to.Store(serve(t, says("after")))
		for askOnce(t, s) == "before" { // so busy that the connection never is idle for long
			time.Sleep(time.Second)
			s.tick(time.Since(begun).Microseconds())
		}
		if took := time.Since(begun); took < renewAfter*9/10 || took > renewAfter*11/10+time.Second {
			t.Errorf("after %v", took)
		}
		synctest.Wait()
		if open, dials := n.open.Load(), n.dials.Load(); open != 1 || dials != 2 {
			t.Errorf("%d connections of %d, want 1 of 2", open, dials)
		}
	})
}

func TestAnAnswerOnItsWayOutlivesARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, more := &network{}, make(chan bool)
		n.to.Store(serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "one ")
			w.(http.Flusher).Flush()
			<-more
			_, _ = io.WriteString(w, "two")
		}))
		s := n.connections(t)
		var got string
		var wg sync.WaitGroup
		wg.Go(func() { got = askOnce(t, s) })
		synctest.Wait()
		s.tick(2 * renewAfter.Microseconds())
		close(more)
		wg.Wait()
		synctest.Wait()
		if open := n.open.Load(); got != "one two" || open != 0 {
			t.Errorf("%q, then %d connections", got, open)
		}
	})
}

func TestAClientRenewsItsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := Open(t.Context(), Config{Catalog: &route.Catalog{}})
		if err != nil {
			t.Fatal(err)
		}
		sets := map[*http.Transport]bool{}
		for range 60 {
			sets[c.http.own.Load()] = true
			time.Sleep(time.Minute)
		}
		if len(sets) < 60/6 || len(sets) > 60/4 {
			t.Errorf("%d sets in an hour", len(sets))
		}
		if err := c.Close(); err != nil { // what is kept belongs to its loop
			t.Error(err)
		}
		if n := len(c.http.retired); n != maxRetired {
			t.Errorf("%d of them are kept", n)
		}
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, all := &network{}, make(chan bool)
		n.to.Store(serve(t, func(w http.ResponseWriter, r *http.Request) {
			<-all
			says("a")(w, r)
		}))
		s := n.connections(t)
		var wg sync.WaitGroup
		var served atomic.Int64
		for range 1000 {
			wg.Go(func() {
				if askOnce(t, s) == "a" {
					served.Add(1)
				}
			})
		}
		synctest.Wait()
		if open := n.open.Load(); open != maxConns {
			t.Errorf("%d connections for 1000 calls", open)
		}
		close(all)
		wg.Wait()
		synctest.Wait()
		if open, dials := n.open.Load(), n.dials.Load(); served.Load() != 1000 || open > maxIdleConns || dials < maxConns {
			t.Errorf("%d served; %d connections of %d are left", served.Load(), open, dials)
		}
		time.Sleep(idleTimeout + time.Second)
		synctest.Wait()
		if open := n.open.Load(); open != 0 {
			t.Errorf("%d idle connections", open)
		}
	})
}

// secure is a server by TLS, and connections that trust it.
func secure(t *testing.T, h http.HandlerFunc, change func(*httptest.Server)) (*httptest.Server, *connections) {
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	change(server)
	server.StartTLS()
	t.Cleanup(server.Close)
	s := newConnections(nil, 0)
	t.Cleanup(s.close)
	s.own.Load().TLSClientConfig.RootCAs = x509.NewCertPool()
	s.own.Load().TLSClientConfig.RootCAs.AddCert(server.Certificate())
	return server, s
}

func TestHTTP2IsSpokenWhereItIsOffered(t *testing.T) {
	for _, offered := range []bool{true, false} {
		server, s := secure(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }, func(s *httptest.Server) { s.EnableHTTP2 = offered })
		answer, err := (&http.Client{Transport: s}).Post(server.URL, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if want := map[bool]string{true: "HTTP/2.0", false: "HTTP/1.1"}[offered]; string(body) != want {
			t.Errorf("%s, want %s", body, want)
		}
	}
}

func TestAnHTTP2ConnectionEndsWithItsLastRequestOnceRenewed(t *testing.T) {
	closed := make(chan bool)
	server, s := secure(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		_, _ = io.Copy(w, r.Body)
	}, func(s *httptest.Server) {
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				close(closed)
			}
		}
	})
	from, to := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, from)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	s.tick(2 * renewAfter.Microseconds())
	_, _ = io.WriteString(to, "still there")
	to.Close()
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || string(body) != "still there" {
		t.Errorf("%q %v", body, err)
	}
	s.tick(2 * renewAfter.Microseconds())
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("it did not end")
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	server, s := secure(t, says("a"), func(s *httptest.Server) {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
	if _, err := s.RoundTrip(r); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("%v", err)
	}
}

func TestTheHeaderOfAnAnswerIsBounded(t *testing.T) {
	for _, http2 := range []bool{true, false} {
		server, s := secure(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X-Long"] = []string{strings.Repeat("x", 2*maxHeader)}
		}, func(s *httptest.Server) { s.EnableHTTP2 = http2 })
		if answer, err := s.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)); err == nil {
			t.Errorf("HTTP/2 %v: %d", http2, answer.StatusCode)
		}
	}
}

type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }

func TestWhatIsGivenIsUsedAsItIs(t *testing.T) {
	if s := newConnections(nil, 0); !s.tells() {
		t.Error("own ones do not tell")
	}
	if s := newConnections(&http.Transport{}, 0); !s.tells() {
		t.Error("net/http's do not tell")
	}
	s := newConnections(refusing{}, 0)
	s.tick(2 * renewAfter.Microseconds())
	defer s.close()
	if _, err := s.RoundTrip(&http.Request{}); s.tells() || err == nil || err.Error() != "refused" {
		t.Errorf("tells %v, %v", s.tells(), err)
	}
}
