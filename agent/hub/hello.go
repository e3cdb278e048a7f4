package hub

import (
	"cmp"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// hello admits a child: who it is comes from its connection, never from the message.
func (h *Hub) hello(c *child, sequence uint64, m *pb.Hello) error {
	if sequence != 1 {
		return status.Errorf(codes.InvalidArgument, "hello is message %d, not the first", sequence)
	}
	if err := checkHello(m); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	at := h.now()
	guest, err := h.admit(c, m)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.unlock()
	return h.join(c, m, guest, at)
}

func checkHello(m *pb.Hello) error {
	switch {
	case m.Leaf == "":
		return errors.New("hello names no leaf")
	case len(m.Held) > maxHeld:
		return fmt.Errorf("hello holds %d states, at most %d", len(m.Held), maxHeld)
	}
	return errors.Join(named(m.Leaf, m.Node, m.Locality, m.Library, m.LibraryVersion), checkHeld(m.Held))
}

func (h *Hub) join(c *child, m *pb.Hello, guest Guest, at int64) error {
	key := keyOf(m, guest)
	switch old := h.named[key]; {
	case c.left:
		return status.Error(codes.Aborted, "the stream has ended")
	case c.seen != 0:
		return status.Error(codes.InvalidArgument, "a second hello")
	case old != nil && old.guest.Identity != guest.Identity:
		return status.Errorf(codes.PermissionDenied, "leaf %q is connected under another identity", m.Leaf)
	case old != nil:
		old.end(status.Errorf(codes.Aborted, "a newer stream of %q took over", m.Leaf), false)
		h.detach(old)
	}
	if err := h.door.name(c.host, guest.Identity); err != nil {
		return err
	}
	c.who = h.identify(m, guest)
	c.seen, c.seenAt = 1, at
	c.claims = claims(m.Held)
	c.key, h.named[key] = key, c
	if !c.relay {
		h.learn(c, leafOf(c, m), h.now())
	}
	h.counts.Joined++
	h.note(Joined, c, m.Library+" "+m.LibraryVersion)
	now := h.now()
	c.due = duties{beat: true, beaten: now, checked: now, until: h.lifetime(now)}
	c.poke()
	if m.Subscribe == nil {
		return nil
	}
	return h.choose(c, m.Subscribe)
}

// keyOf is what there may be one stream of: a leaf by its name, which is random, and a relay by its name
// and identity: its name is its node's, and must not be anybody's to take.
func keyOf(m *pb.Hello, g Guest) string {
	if m.Relay {
		return fmt.Sprintf("relay %q %q", g.Identity, m.Leaf)
	}
	return "leaf " + m.Leaf
}

// identify says who a child is. On its node a relay's own word goes before what leaves say.
func (h *Hub) identify(m *pb.Hello, g Guest) who {
	node := m.Node
	switch {
	case m.Relay:
	case h.config.Node != "":
		node = h.config.Node
	case g.Node != "":
		node = g.Node
	}
	out := who{name: m.Leaf, node: node, locality: m.Locality, relay: m.Relay, sort: "leaf", guest: g}
	if m.Relay {
		out.sort = cmp.Or(m.Library, "relay")
	}
	if h.config.Authorize != nil {
		out.hello = &pb.Hello{Leaf: m.Leaf, Node: m.Node, Locality: m.Locality, Relay: m.Relay}
	}
	return out
}

func claims(held []*pb.Held) map[claim]*pb.Held {
	out := make(map[claim]*pb.Held, len(held))
	for _, c := range held {
		out[claim{c.Track, c.View}] = c
	}
	return out
}

func leafOf(c *child, m *pb.Hello) *pb.LeafState {
	s := &pb.LeafState{
		Leaf: c.name, Node: c.node, Identity: c.guest.Identity, Locality: c.locality,
		Library: m.Library, LibraryVersion: m.LibraryVersion, Incarnation: m.Incarnation,
	}
	for _, held := range m.Held {
		if held.Track == pb.Track_TRACK_CATALOG {
			s.Version, s.Nacked = held.Version, held.Nacked
		}
	}
	return s
}

// choose gives a child the view it asks for, or takes one back. Only a relay speaks for others.
func (h *Hub) choose(c *child, m *pb.Subscribe) error {
	if m.Drop {
		h.unsubscribe(c, m.View)
		return nil
	}
	if size := proto.Size(m); size > maxSubscribe {
		return status.Errorf(codes.InvalidArgument, "a view named by %d bytes, at most %d", size, maxSubscribe)
	}
	if err := named(m.Identity); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	most := maxLeafViews
	if c.relay {
		most = maxViews
	}
	if c.views[m.View] == nil && len(c.views) >= most {
		return status.Errorf(codes.ResourceExhausted, "more than %d views", most)
	}
	if m.FleetOnly && !(c.relay && c.guest.Replica) {
		return status.Error(codes.PermissionDenied, "only a replica may have the fleet's state without a catalog")
	}
	v := View{Selector: wire.Selector{All: m.All, Workloads: m.Workloads}, Identity: c.guest.Identity, FleetOnly: m.FleetOnly}
	if c.relay && m.Identity != "" {
		v.Identity = m.Identity
	}
	if h.views[v.Key()] == nil && len(h.views) >= maxAllViews && !h.makeRoom() {
		return later(someTime(), "more than %d views", maxAllViews)
	}
	h.subscribe(c, v, m.View)
	return nil
}
