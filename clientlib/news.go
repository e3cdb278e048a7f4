package clientlib

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/uplink"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Where a catalog comes from, as events say it.
const (
	fromParent    = "parent"
	fromState     = "state"
	fromSnapshot  = "snapshot"
	fromBootstrap = "bootstrap"
	fromCatalog   = "catalog"
)

// news turns what comes down into snapshots. It compiles outside of the client's lock.
type news struct {
	client  *Client
	ready   chan struct{}          // closed with the first snapshot
	offered chan struct{}          // closed when the link has handed over what it had saved
	source  atomic.Pointer[string] // of what the link hands over now

	mu       sync.Mutex // guards what follows: one compilation at a time
	local    route.Local
	catalog  *route.Catalog
	fleet    *route.Fleet
	snapshot *route.Snapshot
	told     string            // the source last told of
	causes   map[string]string // why this process cannot send to an endpoint, as last told
}

func newNews(c *Client, l route.Local) *news {
	n := &news{client: c, local: l, ready: make(chan struct{}), offered: make(chan struct{})}
	n.from(fromParent)
	return n
}

// from says what the link hands over from now on.
func (n *news) from(source string) { n.source.Store(&source) }

// Apply is called by the link.
func (n *news) Apply(_ uint32, s *wire.State, cold bool) ([]*pb.Unusable, error) {
	source := *n.source.Load()
	if s.Track() == pb.Track_TRACK_FLEET {
		fleet, err := wire.Fleet(s)
		if err != nil {
			return nil, err
		}
		return nil, n.adopt(source, nil, fleet)
	}
	catalog, unusable, err := wire.Catalog(s, cold)
	if err != nil {
		return nil, err
	}
	n.tellUnusable(unusable)
	return unusable, n.adopt(source, catalog, nil)
}

// adopt compiles and applies what is new; a nil catalog or fleet is not.
func (n *news) adopt(source string, catalog *route.Catalog, fleet *route.Fleet) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if catalog == nil {
		catalog = n.catalog
	}
	if fleet == nil {
		fleet = n.fleet
	}
	if catalog == nil {
		n.fleet = fleet
		return nil
	}
	if fleet != nil {
		fleet = fleet.Keep(n.fleet, catalog)
	}
	n.local.Wall = n.client.clock.zero(n.local.Wall)
	snapshot, err := route.Compile(n.snapshot, catalog, fleet, n.local)
	if err != nil {
		return err
	}
	first := n.snapshot == nil
	if n.snapshot == nil || snapshot.Catalog() != n.snapshot.Catalog() {
		n.tellUnsendable(snapshot.Catalog())
	}
	n.catalog, n.fleet, n.snapshot = catalog, fleet, snapshot
	n.client.apply(snapshot)
	if source != n.told {
		n.told = source
		n.client.tell(Event{Kind: "source", At: time.Now(), Name: source})
	}
	if first {
		close(n.ready)
	}
	return nil
}

// bytes adopts a whole state that came as bytes.
func (n *news) bytes(source string, b []byte) error {
	s, err := wire.Read(n.client.clock.now(), b)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	if s.Track() != pb.Track_TRACK_CATALOG {
		return fmt.Errorf("%s: holds no catalog", source)
	}
	catalog, unusable, err := wire.Catalog(s, true)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	n.tellUnusable(unusable)
	return n.adopt(source, catalog, nil)
}

func (n *news) tellUnusable(all []*pb.Unusable) {
	for _, u := range all {
		n.client.tell(Event{Kind: "unusable", At: time.Now(), Workload: u.GetWorkload(), Reason: u.GetReason()})
	}
}

// tellUnsendable says which endpoints this process cannot send to, and why, once for each
// cause.
func (n *news) tellUnsendable(catalog *route.Catalog) {
	causes := map[string]string{}
	for i := range catalog.Endpoints {
		e := &catalog.Endpoints[i]
		_, err := n.client.keys.check(e)
		if err == nil {
			continue
		}
		causes[e.Name] = err.Error()
		if n.causes[e.Name] != causes[e.Name] {
			n.client.tell(Event{Kind: "unusable", At: time.Now(), Endpoint: e.Name, Reason: err.Error()})
		}
	}
	n.causes = causes
}

// Grant is called by the link.
func (n *news) Grant(dated int64, g *pb.Grant) {
	n.client.reports.granted(g.GetNumber())
	permit, ok := wire.Permit(dated, g)
	leases := wire.Lease(dated, g)
	c := n.client
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.now()
	if ok {
		c.router.Grant(now, permit)
	}
	for _, l := range leases {
		c.router.Lease(now, l)
	}
}

// linked passes on what the link tells of itself.
func (c *Client) linked(e uplink.Event) {
	switch e.Kind {
	case uplink.Loaded:
		close(c.news.offered) // the link says so once
	case uplink.Connected, uplink.Lost:
		c.cutOff(e.Kind == uplink.Lost)
	}
	c.tell(Event{Kind: "link_" + e.Kind.String(), At: time.Now(), Name: e.Parent, Err: e.Err})
}

// cutOff says whether anybody renews leases.
func (c *Client) cutOff(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.router.CutOff(c.clock.now(), cut)
}

// isReady says whether there is a snapshot.
func (n *news) isReady() bool {
	select {
	case <-n.ready:
		return true
	default:
		return false
	}
}

// fallbacks adopts the first local source that holds a usable catalog; its error says
// what was wrong with each.
func (n *news) fallbacks(c Config, read func(string) ([]byte, error)) error {
	var faults []error
	if n.isReady() {
		return nil
	}
	if c.Snapshot != "" {
		b, err := read(c.Snapshot)
		if err == nil {
			err = n.bytes(fromSnapshot, b)
		}
		faults = append(faults, err)
	}
	if !n.isReady() && len(c.Bootstrap) > 0 {
		faults = append(faults, n.bytes(fromBootstrap, c.Bootstrap))
	}
	if !n.isReady() && c.Catalog != nil {
		faults = append(faults, n.adopt(fromCatalog, c.Catalog, nil))
	}
	if n.isReady() {
		return nil
	}
	return errors.Join(faults...)
}
