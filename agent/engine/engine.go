// Package engine reads what model servers say of their load: requests that run and wait, how
// full the cache is, tokens a second. It reads the /metrics page of each instance whose
// endpoint names how, and nothing else of it.
//
// It judges nothing. What a server does not say is not known, which is not zero. An address
// comes from the catalog, so who may be read is agent/dial's to say; no redirect is followed
// and no credential sent.
package engine

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pointsman/pointsman/agent/rota"
	"github.com/pointsman/pointsman/clientlib/route"
)

// Target is one model server.
type Target struct {
	Endpoint string // an instance by its own name
	Identity uint64
	URL      string // of its metrics
	Server   string // vllm, sglang
}

// Config is what a reader needs.
type Config struct {
	Targets func() []Target
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Now     func() int64        // µs, monotonic
	Observe func(Target, error) // told once when one cannot be read, and once when it can again (nil)
}

const (
	every    = 2 * time.Second
	within   = 2 * time.Second // a reading, all of it
	slowest  = 30 * time.Second
	mostPage = 1 << 20  // bytes
	mostHead = 64 << 10 // bytes
	atOnce   = 32
	fresh    = int64(6e6) // µs that a reading counts
)

// Reader reads. Make it with New.
type Reader struct {
	config Config
	client *http.Client

	mu   sync.Mutex
	read map[Target]*reading
}

// reading is the last of one server. load is nil while it cannot be read.
type reading struct {
	page     page
	at       int64
	load     *route.EngineLoad
	failures int
}

// New makes a reader of what Servers can read.
func New(c Config) *Reader {
	return &Reader{config: c, read: map[Target]*reading{}, client: &http.Client{
		Timeout:       within,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{ // by no proxy: that would see another network
			DialContext: c.Dial, TLSHandshakeTimeout: within, MaxResponseHeaderBytes: mostHead,
			MaxConnsPerHost: 1, IdleConnTimeout: 3 * every,
		},
	}}
}

// Speaks tells whether a kind of server can be read.
func Speaks(server string) bool { return pages[server] != nil }

// Run reads until ctx ends.
func (r *Reader) Run(ctx context.Context) {
	defer r.client.CloseIdleConnections()
	rota.Rota[Target]{Members: r.members, Visit: r.visit, Within: every, AtOnce: atOnce}.Run(ctx)
}

// members forgets what is no target any more.
func (r *Reader) members() []Target {
	targets := r.config.Targets()
	r.mu.Lock()
	defer r.mu.Unlock()
	rota.Only(r.read, targets)
	return targets
}

func (r *Reader) visit(ctx context.Context, t Target) time.Duration {
	p, err := r.fetch(ctx, t)
	if ctx.Err() != nil {
		return every
	}
	failures, turned := r.note(t, p, err)
	if turned && r.config.Observe != nil {
		r.config.Observe(t, err)
	}
	if failures == 0 {
		return every
	}
	wait := min(every<<min(failures, 8), slowest)
	return wait/2 + rand.N(wait/2)
}

// fetch reads one page.
func (r *Reader) fetch(ctx context.Context, t Target) (page, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", "text/plain;version=0.0.4")
	answer, err := r.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: answers %d", t.URL, answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostPage+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", t.URL, err)
	case len(body) > mostPage:
		return nil, fmt.Errorf("%s: more than %d bytes", t.URL, mostPage)
	}
	return parse(body)
}

// note keeps a reading and tells how many in a row failed, and whether that is news.
func (r *Reader) note(t Target, p page, err error) (failures int, turned bool) {
	now := r.config.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.read[t]
	if was == nil {
		was = &reading{}
		r.read[t] = was
	}
	if err != nil {
		was.failures++
		was.load = nil
		return was.failures, was.failures == 1
	}
	l := pages[t.Server](p, was.page, float64(now-was.at)/1e6)
	l.Endpoint, l.Identity = t.Endpoint, t.Identity
	turned = was.failures > 0
	*was = reading{page: p, at: now, load: &l}
	return 0, turned
}

// Load is a reading and when it was taken.
type Load struct {
	route.EngineLoad
	At int64
}

// Loads are the fresh readings, by endpoint.
func (r *Reader) Loads() []Load {
	now := r.config.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Load
	for _, v := range r.read {
		if v.load != nil && now-v.at < fresh {
			all = append(all, Load{*v.load, v.at})
		}
	}
	slices.SortFunc(all, func(a, b Load) int { return compare(a.Endpoint, b.Endpoint) })
	return all
}
