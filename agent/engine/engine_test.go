package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// servers are model servers in memory, by their address.
type servers struct {
	mu    sync.Mutex
	pages map[string]http.HandlerFunc
	asked map[string]int
}

func (s *servers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.Host+r.URL.Path]++
	h := s.pages[r.Host]
	s.mu.Unlock()
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h(w, r)
}

func (s *servers) set(host string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[host] = h
}

func (s *servers) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

// read runs a reader of targets against servers; events are what it observed.
func read(s *servers, targets ...Target) (r *Reader, events func() []string, stop func()) {
	var mu sync.Mutex
	var seen []string
	l := bufconn.Listen(1 << 20)
	server := &http.Server{Handler: s}
	start := time.Now()
	r = New(Config{
		Targets: func() []Target { return targets }, Now: func() int64 { return time.Since(start).Microseconds() + 1 },
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.DialContext(ctx) },
		Observe: func(t Target, err error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, t.Endpoint+map[bool]string{true: " lost", false: " back"}[err != nil])
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	wg.Go(func() { r.Run(ctx) })
	return r, func() []string { mu.Lock(); defer mu.Unlock(); return seen }, func() {
		cancel()
		_ = server.Close()
		wg.Wait()
	}
}

func at(name, host string) Target {
	return Target{Endpoint: name, Identity: 3, URL: "http://" + host + "/metrics", Server: "vllm"}
}

func newServers() *servers {
	return &servers{pages: map[string]http.HandlerFunc{}, asked: map[string]int{}}
}

func TestLoadsAreReadEveryTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		s.set("a:1", says("vllm:num_requests_running 3\n"))
		r, _, stop := read(s, at("own@a:1", "a:1"))
		defer stop()
		time.Sleep(21 * time.Second)
		if n := s.count("a:1/metrics"); n < 8 || n > 11 {
			t.Errorf("read %d times in 21 s", n)
		}
		loads := r.Loads()
		if len(loads) != 1 || loads[0].Running != 3 || loads[0].Endpoint != "own@a:1" || loads[0].Identity != 3 {
			t.Errorf("loads: %v", loads)
		}
	})
}

// A server that does not answer has no load: not the one it had, and not zero.
func TestAServerThatCannotBeReadHasNoLoadAndIsAskedLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		s.set("a:1", says("vllm:num_requests_running 3\n"))
		r, events, stop := read(s, at("own@a:1", "a:1"))
		defer stop()
		time.Sleep(5 * time.Second)
		s.set("a:1", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		time.Sleep(3 * time.Second)
		if l := r.Loads(); len(l) > 0 {
			t.Errorf("loads: %v", l)
		}
		before := s.count("a:1/metrics")
		time.Sleep(5 * time.Minute)
		if n := s.count("a:1/metrics") - before; n > 25 {
			t.Errorf("asked %d times in five minutes", n)
		}
		s.set("a:1", says("vllm:num_requests_running 4\n"))
		time.Sleep(35 * time.Second)
		if l := r.Loads(); len(l) != 1 || l[0].Running != 4 {
			t.Errorf("back again: %v", l)
		}
		if got := strings.Join(events(), ", "); got != "own@a:1 lost, own@a:1 back" {
			t.Errorf("observed %s", got)
		}
	})
}

// control-plane.md, who may do what: no redirects, 1 MiB, 2 s.
func TestWhatAPageMayNotBe(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://b:1/metrics", http.StatusFound)
		},
		"too long": says("vllm:num_requests_running 3\n" + strings.Repeat("\n", mostPage)),
		"a page for ever": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("vllm:num_requests_running 3\n"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"no metrics": says("<html>no</html>"),
		"an answer of a long header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", mostHead+1))
			_, _ = w.Write([]byte("vllm:num_requests_running 3\n"))
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServers()
			s.set("a:1", h)
			s.set("b:1", says("vllm:num_requests_running 3\n"))
			r, events, stop := read(s, at("own@a:1", "a:1"))
			time.Sleep(10 * time.Second)
			if l := r.Loads(); len(l) > 0 || len(events()) != 1 {
				t.Errorf("%s: %v, observed %v", name, l, events())
			}
			if s.count("b:1/metrics") > 0 {
				t.Errorf("%s: another host was asked", name)
			}
			stop()
		})
	}
}

func TestNothingOfTheAgentsIsSentAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		heads := make(chan http.Header, 1)
		s.set("a:1", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case heads <- r.Header:
			default:
			}
		})
		_, _, stop := read(s, at("own@a:1", "a:1"))
		defer stop()
		time.Sleep(5 * time.Second)
		for name := range <-heads {
			if name != "Accept" && name != "Accept-Encoding" && name != "User-Agent" {
				t.Errorf("sent %s", name)
			}
		}
	})
}

func TestAForbiddenHostIsNotAskedAndSaysSo(t *testing.T) {
	forbidden := errors.New("not an allowed host")
	synctest.Test(t, func(t *testing.T) {
		start, said := time.Now(), make(chan error, 1)
		r := New(Config{
			Targets: func() []Target { return []Target{at("own@a:1", "a:1")} }, Now: func() int64 { return time.Since(start).Microseconds() + 1 },
			Dial:    func(context.Context, string, string) (net.Conn, error) { return nil, forbidden },
			Observe: func(_ Target, err error) { said <- err },
		})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { r.Run(ctx) })
		if err := <-said; !errors.Is(err, forbidden) {
			t.Errorf("observed %v", err)
		}
		cancel()
		wg.Wait()
	})
}

// Addresses that rotate every second leave nothing behind: no reading, no connection.
func TestAddressesThatRotateLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newServers(), bufconn.Listen(1<<20)
		start, mu, open := time.Now(), sync.Mutex{}, 0
		server := &http.Server{Handler: s, ConnState: func(_ net.Conn, state http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			switch state {
			case http.StateNew:
				open++
			case http.StateClosed:
				open--
			}
		}}
		host := func() string { return fmt.Sprintf("h%d:1", int(time.Since(start).Seconds())) }
		r := New(Config{
			Targets: func() []Target { return []Target{at("own@"+host(), host())} }, Now: func() int64 { return time.Since(start).Microseconds() + 1 },
			Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
				s.set(address, says("vllm:num_requests_running 3\n"))
				return l.DialContext(ctx)
			},
		})
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { _ = server.Serve(l) })
		wg.Go(func() { r.Run(ctx) })
		time.Sleep(2 * time.Minute)
		mu.Lock()
		connections := open
		mu.Unlock()
		r.mu.Lock()
		readings := len(r.read)
		r.mu.Unlock()
		if connections > 10 || readings > 2 || len(s.asked) < 20 {
			t.Errorf("%d connections and %d readings are kept after %d addresses", connections, readings, len(s.asked))
		}
		cancel()
		_ = server.Close()
		wg.Wait()
	})
}
