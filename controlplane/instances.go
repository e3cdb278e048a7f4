package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/agent/rota"
	"github.com/pointsman/pointsman/clientlib/route"
)

const (
	resolveEach   = 5 * time.Second
	resolveJitter = time.Second // to both sides
	resolveWithin = 3 * time.Second
	resolveAtOnce = 16
	resolvePace   = 50 * time.Millisecond // protocol.md, rule 11: what changes together is told together
	mostTold      = 3                     // names in an alarm
)

// lookup gives the IP addresses (A and AAAA) that a host name stands for.
type lookup func(ctx context.Context, host string) ([]string, error)

// resolver finds the instances of endpoints that a name stands for: the leader's does, and nobody
// else's. A name that does not answer, or with nothing, stands for what it stood for last.
type resolver struct {
	lookup  lookup
	alarm   func(text string) // of names that do not resolve; empty: all do
	log     hclog.Logger
	changed chan struct{}

	mu      sync.Mutex
	catalog *route.Catalog
	names   map[string]string // "host:port" by endpoint
	answers map[string]*resolved
	told    map[string]bool                 // endpoints that had instances
	held    map[string]route.FleetInstances // of the leader before, until the first catalog
}

// resolved is what is known of one name.
type resolved struct {
	addresses []string
	failing   bool
}

// newResolver asks names by look.
func newResolver(look lookup, alarm func(string), log hclog.Logger) *resolver {
	return &resolver{lookup: look, alarm: alarm, log: log, changed: make(chan struct{}, 1)}
}

// begin forgets a term before, and takes what is held.
func (r *resolver) begin(held []route.FleetInstances) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catalog, r.names, r.answers, r.told = nil, map[string]string{}, map[string]*resolved{}, map[string]bool{}
	r.held = make(map[string]route.FleetInstances, len(held))
	for _, in := range held {
		r.held[in.Endpoint] = in
	}
}

// run resolves until ctx ends. It begins with what the leader before held, hears of catalogs, and
// publishes all there is whenever some of it changed: from this one goroutine.
func (r *resolver) run(ctx context.Context, held []route.FleetInstances, catalogs <-chan *route.Catalog, publish func([]route.FleetInstances)) {
	r.begin(held)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		rota.Rota[string]{Members: r.members, Visit: r.visit, Within: time.Millisecond, AtOnce: resolveAtOnce}.Run(ctx)
	})
	var due <-chan time.Time
	var said []route.FleetInstances
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-catalogs:
			r.apply(c)
		case <-r.changed:
			if due == nil {
				due = time.After(resolvePace)
			}
		case <-due:
			due = nil
			if all := r.all(); !slices.EqualFunc(all, said, same) {
				said = all
				publish(all)
			}
			r.alarm(r.unresolved())
		}
	}
}

func same(a, b route.FleetInstances) bool {
	return a.Endpoint == b.Endpoint && slices.Equal(a.Instances, b.Instances)
}

// apply takes a catalog. What the leader before held of an endpoint stands for its name until that
// answers; names that nobody has any more are forgotten.
func (r *resolver) apply(c *route.Catalog) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catalog = c
	clear(r.names)
	used := map[string]bool{}
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		if e.Instances.DNS == "" {
			continue
		}
		r.names[e.Name], used[e.Instances.DNS] = e.Instances.DNS, true
		if in, ok := r.held[e.Name]; ok && r.answers[e.Instances.DNS] == nil {
			r.answers[e.Instances.DNS] = &resolved{addresses: in.Addresses()}
		}
	}
	for name := range used {
		if r.answers[name] == nil {
			r.answers[name] = &resolved{}
		}
	}
	clear(r.held)
	maps.DeleteFunc(r.answers, func(name string, _ *resolved) bool { return !used[name] })
	maps.DeleteFunc(r.told, func(endpoint string, _ bool) bool { return r.names[endpoint] == "" })
	r.poke()
}

func (r *resolver) poke() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *resolver) members() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Compact(slices.Sorted(maps.Values(r.names)))
}

func (r *resolver) visit(ctx context.Context, name string) time.Duration {
	found, err := r.ask(ctx, name)
	if ctx.Err() == nil {
		r.take(name, found, err)
	}
	return resolveEach - resolveJitter + rand.N(2*resolveJitter)
}

var errNoAddress = errors.New("it has no address")

// ask gives the addresses of a name, sorted.
func (r *resolver) ask(ctx context.Context, name string) ([]string, error) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, resolveWithin)
	defer cancel()
	ips, err := r.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, ip := range ips {
		if address := net.JoinHostPort(strings.ToLower(ip), port); route.Address(address) {
			all = append(all, address)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return nil, errNoAddress
	}
	return all, nil
}

// take keeps what a name stands for now, and says so when that is news. One that nobody has any more since it
// was asked is none of ours.
func (r *resolver) take(name string, found []string, err error) {
	r.mu.Lock()
	was := r.answers[name]
	if was == nil {
		r.mu.Unlock()
		return
	}
	now := &resolved{addresses: was.addresses, failing: err != nil}
	if err == nil {
		now.addresses = found[:min(len(found), route.MostInstances)]
	}
	r.answers[name] = now
	r.mu.Unlock()
	if now.failing != was.failing || !slices.Equal(now.addresses, was.addresses) {
		r.poke()
	}
	switch {
	case err != nil && !was.failing:
		r.log.Warn("a name does not resolve: its instances stay as they were", "name", name, "instances", len(now.addresses), "error", err)
	case err == nil && !slices.Equal(now.addresses, was.addresses):
		r.log.Info("instances", "name", name, "count", len(now.addresses), "were", len(was.addresses), "left out", len(found)-len(now.addresses))
	case err == nil && was.failing:
		r.log.Info("a name resolves again", "name", name)
	}
}

// unresolved words the names that do not resolve.
func (r *resolver) unresolved() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name, a := range r.answers {
		if a.failing {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	more := ""
	if n := len(names) - mostTold; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s: no answer for %s%s: the instances stay as they were; the leader's log says why", unresolved, strings.Join(names[:min(len(names), mostTold)], ", "), more)
}

// all is what is known of each endpoint. One whose name nobody answered for yet is not in it,
// unless it had instances under another name: then it has none.
func (r *resolver) all() []route.FleetInstances {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []route.FleetInstances
	if r.catalog == nil {
		return nil
	}
	for i := range r.catalog.Endpoints {
		e := &r.catalog.Endpoints[i]
		in := route.FleetInstances{Endpoint: e.Name}
		if a := r.answers[e.Instances.DNS]; a != nil {
			for _, address := range a.addresses {
				in.Instances = append(in.Instances, route.FleetInstance{Address: address, Identity: e.At(address).Identity})
			}
		}
		if len(in.Instances) > 0 {
			r.told[e.Name] = true
		}
		if r.told[e.Name] && e.Instances.DNS != "" {
			all = append(all, in)
		}
	}
	return all
}
