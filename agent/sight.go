package agent

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/pointsman/pointsman/agent/engine"
	"github.com/pointsman/pointsman/agent/probe"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	lookAgain     = int64(1e6) // µs: views are looked through so often at most
	mostEngines   = 1000
	mostAddresses = 1000
)

// sight is which addresses are in the views that the agent holds.
type sight struct {
	locality string
	now      func() int64

	mu     sync.Mutex
	views  map[uint32]*seen
	dirty  bool
	lookAt int64
	found  scene
}

// seen is one view.
type seen struct {
	catalog, fleet *wire.State
	read           *wire.State // what declared is of
	declared       *route.Catalog
	heard          *wire.State // what overlay is of
	overlay        *route.Fleet
}

// scene is what is looked at. It never changes.
type scene struct {
	endpoints map[string]*route.Endpoint // by name, each instance by its own
	engines   []engine.Target
	addresses []probe.Target
	at        map[probe.Target][]*route.Endpoint
}

func newSight(locality string, now func() int64) *sight {
	return &sight{locality: locality, now: now, views: map[uint32]*seen{}}
}

// saw takes a state that came down.
func (s *sight) saw(view uint32, state *wire.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[view]
	if v == nil {
		v = &seen{overlay: &route.Fleet{}}
		s.views[view] = v
	}
	switch state.Track() {
	case pb.Track_TRACK_CATALOG:
		v.catalog = state
	case pb.Track_TRACK_FLEET:
		v.fleet = state
	}
	s.dirty = true
}

func (s *sight) lost(view uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.views, view)
	s.dirty = true
}

// scene is what there is to look at now.
func (s *sight) scene() scene {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.dirty && now >= s.lookAt {
		s.dirty, s.lookAt = false, now+lookAgain
		s.found = s.look()
	}
	return s.found
}

func (s *sight) look() scene {
	out := scene{endpoints: map[string]*route.Endpoint{}, at: map[probe.Target][]*route.Endpoint{}}
	for _, v := range s.views {
		c := v.expand()
		if c == nil {
			continue
		}
		for i := range c.Endpoints {
			out.endpoints[c.Endpoints[i].Name] = &c.Endpoints[i]
		}
	}
	for _, e := range out.endpoints {
		s.add(&out, e)
	}
	slices.SortFunc(out.engines, func(a, b engine.Target) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	slices.SortFunc(out.addresses, func(a, b probe.Target) int { return strings.Compare(a.Address, b.Address) })
	out.engines = out.engines[:min(len(out.engines), mostEngines)]
	out.addresses = out.addresses[:min(len(out.addresses), mostAddresses)]
	return out
}

// expand decodes what changed, and no more of the fleet's word than where instances are.
func (v *seen) expand() *route.Catalog {
	if v.catalog == nil {
		return nil
	}
	if v.read != v.catalog {
		v.read = v.catalog
		if c, _, err := wire.Catalog(v.catalog, true); err == nil {
			v.declared = c
		}
	}
	if v.declared == nil {
		return nil
	}
	if v.heard != v.fleet {
		v.heard = v.fleet
		next := &route.Fleet{Instances: wire.Instances(v.fleet)}
		v.overlay = next.Keep(v.overlay, v.declared)
	}
	return route.Expand(v.declared, v.overlay.Instances)
}

func (s *sight) add(out *scene, e *route.Endpoint) {
	u, err := url.Parse(e.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return
	}
	if instance := route.Declared(e.Name) != e.Name; instance && engine.Speaks(e.Metrics) && near(s.locality, e.Region) {
		out.engines = append(out.engines, engine.Target{
			Endpoint: e.Name, Identity: e.Identity, Server: e.Metrics,
			URL: (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/metrics"}).String(),
		})
	}
	if proxied(u) {
		return // whether the proxy gets there is not to be seen from here
	}
	t := probe.Target{Address: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])), TLS: u.Scheme == "https"}
	if out.at[t] == nil {
		out.addresses = append(out.addresses, t)
	}
	out.at[t] = append(out.at[t], e)
}

// near tells whether a node reads model servers of a region: those of its own, and all where
// one of both is not said. So that a server is read by its neighbours, not by the whole fleet.
func near(locality, region string) bool {
	within := func(path, of string) bool {
		rest, ok := strings.CutPrefix(path, of)
		return ok && (rest == "" || rest[0] == '/')
	}
	return locality == "" || region == "" || within(locality, region) || within(region, locality)
}

// proxied tells whether a program with this environment would send by a proxy.
func proxied(u *url.URL) bool {
	p, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	return err != nil || p != nil
}
