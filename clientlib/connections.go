package clientlib

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Bounds of the client's own connections, per address. A dial outlives the attempt that
// asked for it, so it has an end of its own.
const (
	maxConns     = 512
	maxIdleConns = 64
	dialTimeout  = 10 * time.Second
	idleTimeout  = 90 * time.Second
	pingAfter    = 15 * time.Second // of silence on an HTTP/2 connection, which may be dead
	maxHeader    = 256 << 10        // bytes of an answer's header
	renewAfter   = 5 * time.Minute  // new requests go by new connections, so to where names point now
	maxRetired   = 3                // sets whose requests may still be on their way
)

// connections is what Transport sends through: what the configuration gives, else the
// client's own. Those are renewed now and then, for net/http asks for a name's address
// only when it dials, and a busy connection never ends by itself. A set that was replaced
// takes no new requests; a connection of it ends with its last one.
type connections struct {
	given http.RoundTripper // nil: own ones
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	own   atomic.Pointer[http.Transport]

	// What follows belongs to the client's loop.
	retired []*http.Transport
	renewAt int64 // µs
}

func newConnections(given http.RoundTripper, now int64) *connections {
	s := &connections{given: given, dial: (&net.Dialer{Timeout: dialTimeout}).DialContext}
	if given == nil {
		s.renew(now)
	}
	return s
}

// RoundTrip sends. A connection that was closed before the request came says nothing of the
// endpoint, and another is taken.
func (s *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	sender := s.given
	if sender == nil {
		sender = s.own.Load()
	}
	answer, err := sender.RoundTrip(r)
	if err == nil || !strings.HasSuffix(err.Error(), closedIdle) || r.Body != nil && r.GetBody == nil {
		return answer, err
	}
	again := r.WithContext(r.Context())
	if r.Body != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return sender.RoundTrip(again)
}

// closedIdle is what net/http says when an endpoint closed a pooled connection just as it
// was taken; it sends again by itself only what is no POST.
const closedIdle = "http: server closed idle connection"

// tells says whether a request is told when it has its connection.
func (s *connections) tells() bool {
	_, ok := s.given.(*http.Transport)
	return ok || s.given == nil
}

// tick renews what is old and ends what is no longer used.
func (s *connections) tick(now int64) {
	if s.given != nil {
		return
	}
	if now >= s.renewAt {
		s.renew(now)
	}
	for _, t := range s.retired {
		t.CloseIdleConnections()
	}
}

func (s *connections) renew(now int64) {
	was := s.own.Swap(s.set())
	if was != nil {
		s.retired = append(s.retired, was)
	}
	if len(s.retired) > maxRetired {
		s.retired = s.retired[1:] // what is left of it ends when idle
	}
	s.renewAt = now + int64(float64(renewAfter.Microseconds())*(0.9+0.2*rand.Float64()))
}

// close ends what no request is on.
func (s *connections) close() {
	if s.given != nil {
		return
	}
	for _, t := range append(s.retired, s.own.Load()) {
		t.CloseIdleConnections()
	}
}

// set is connections of one time.
func (s *connections) set() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dials(ctx)
			return s.dial(ctx, network, address)
		},
		TLSHandshakeTimeout:    dialTimeout,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter},
		MaxConnsPerHost:        maxConns,
		MaxIdleConnsPerHost:    maxIdleConns,
		MaxResponseHeaderBytes: maxHeader,
		IdleConnTimeout:        idleTimeout,
	}
}
