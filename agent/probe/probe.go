// Package probe tells which addresses take a connection, from this node: a TCP connection, and
// a TLS handshake where requests would have one. It sends no request, so it says nothing of
// whether anything is served.
package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pointsman/pointsman/agent/dial"
	"github.com/pointsman/pointsman/agent/rota"
)

// Target is an address; several endpoints may have it.
type Target struct {
	Address string // host:port
	TLS     bool
}

// Config is what a prober needs.
type Config struct {
	Targets func() []Target
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Now     func() int64 // µs, monotonic
}

const (
	every  = 15 * time.Second
	jitter = 3 * time.Second // to both sides
	within = 5 * time.Second
	atOnce = 16
)

// Result is what came of the last try.
type Result struct {
	Reached bool
	Reason  string // why not: one word or two, never an address
	Connect int64  // µs
	At      int64
}

// Prober tries. Make it with New.
type Prober struct {
	config Config

	mu      sync.Mutex
	results map[Target]Result
}

// New makes a prober.
func New(c Config) *Prober { return &Prober{config: c, results: map[Target]Result{}} }

// Run tries until ctx ends.
func (p *Prober) Run(ctx context.Context) {
	rota.Rota[Target]{Members: p.members, Visit: p.visit, Within: every / 3, AtOnce: atOnce}.Run(ctx)
}

// members forgets what is no target any more.
func (p *Prober) members() []Target {
	targets := p.config.Targets()
	p.mu.Lock()
	defer p.mu.Unlock()
	rota.Only(p.results, targets)
	return targets
}

func (p *Prober) visit(ctx context.Context, t Target) time.Duration {
	again := every - jitter + rand.N(2*jitter)
	began := p.config.Now()
	err := p.connect(ctx, t)
	if ctx.Err() != nil {
		return again
	}
	r := Result{Reached: err == nil, At: p.config.Now()}
	if r.Reached {
		r.Connect = r.At - began
	} else {
		r.Reason = reason(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, dial.ErrForbidden) {
		delete(p.results, t) // that says nothing of the address
	} else {
		p.results[t] = r
	}
	return again
}

func (p *Prober) connect(ctx context.Context, t Target) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	conn, err := p.config.Dial(ctx, "tcp", t.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if !t.TLS {
		return nil
	}
	host, _, _ := net.SplitHostPort(t.Address)
	return tls.Client(conn, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}).HandshakeContext(ctx)
}

// reason is why a connection failed, in words that hold no address.
func reason(err error) string {
	var name *net.DNSError
	var bad *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &name):
		return "name not resolved"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "no route"
	case errors.As(err, &bad), errors.As(err, &authority):
		return "certificate"
	case errors.As(err, &record), strings.Contains(err.Error(), "tls:"):
		return "tls"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	}
	return "failed"
}

// Result is the last of one address; false: there is none.
func (p *Prober) Result(t Target) (Result, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.results[t]
	return r, ok
}
