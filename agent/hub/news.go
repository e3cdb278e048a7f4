package hub

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// ack takes what a child holds. An update that was taken frees its lane for the newest.
func (h *Hub) ack(c *child, m *pb.Ack) {
	for _, held := range m.Held {
		s := c.views[held.View]
		if s == nil || s.lane(held.Track) == nil {
			continue
		}
		l := s.lane(held.Track)
		if l.ack(point{held.Version, string(held.Digest)}) {
			h.acked(c, held, m.Unusable)
		}
		c.mark(l)
	}
}

func (h *Hub) acked(c *child, held *pb.Held, unusable []*pb.Unusable) {
	if held.Track != pb.Track_TRACK_CATALOG {
		return
	}
	h.amend(c, func(s *pb.LeafState) {
		s.Version, s.Nack, s.Nacked, s.Unusable = held.Version, "", nil, unusable
	})
}

// nack takes a refusal: the lane rests until there is other data.
func (h *Hub) nack(c *child, m *pb.Nack) {
	s := c.views[m.View]
	if s == nil || s.lane(m.Track) == nil || !s.lane(m.Track).nack(m.Version) {
		return
	}
	c.mark(s.lane(m.Track))
	h.counts.Nacks++
	h.note(Nacked, c, cut(m.Reason))
	h.amend(c, func(s *pb.LeafState) { s.Nack, s.Nacked = m.Reason, m.Version })
}

// amend changes the state of a direct leaf.
func (h *Hub) amend(c *child, change func(*pb.LeafState)) {
	l := h.roster.leaves[c.name]
	if c.relay || l == nil || l.via != c {
		return
	}
	was := l.state // what it points to is replaced, never changed
	s := &pb.LeafState{
		Leaf: was.Leaf, Node: was.Node, Identity: was.Identity, Locality: was.Locality, Library: was.Library,
		LibraryVersion: was.LibraryVersion, Incarnation: was.Incarnation, Version: was.Version,
		Nack: was.Nack, Nacked: was.Nacked, Unusable: was.Unusable,
	}
	change(s)
	h.learn(c, s, h.now())
}

// learn takes a leaf's state, without an age, as it was heard; bad news is urgent.
func (h *Hub) learn(c *child, s *pb.LeafState, heard int64) {
	fit(s)
	if h.roster.set(c, s, heard) {
		h.outbox.touch(h.now(), s.Gone || s.Nack != "")
		h.poke()
	}
}

// report takes what goes up, its ages as of at. A leaf speaks for itself, a relay for the
// leaves below it that do not.
func (h *Hub) report(c *child, m *pb.Report, at int64) {
	if c.relay {
		for _, s := range m.States {
			h.relayed(c, s, at)
		}
	}
	for _, r := range m.Leaves {
		if err := h.take(c, r, at); err != nil {
			h.drop(err)
		}
	}
	for _, n := range m.Nodes {
		if err := h.see(c, n, at); err != nil {
			h.drop(err)
		}
	}
	h.poke()
}

// take takes a leaf's report, or says why it is not passed up.
func (h *Hub) take(c *child, r *pb.LeafReport, at int64) error {
	if err := h.refuses(c, r); err != nil {
		return err
	}
	h.stamp(c, r)
	if !h.roster.speaks(c, r, at-r.AgeUs) {
		return fmt.Errorf("report %d of %.64q came before, or is too old to tell", r.Sequence, r.Leaf)
	}
	h.outbox.add(h.now(), at, r)
	return nil
}

func (h *Hub) refuses(c *child, r *pb.LeafReport) error {
	switch size := proto.Size(r); {
	case size > maxReport:
		return fmt.Errorf("%q reports %d bytes, at most %d", c.name, size, maxReport)
	case c.relay && h.roster.direct(r.Leaf), !c.relay && r.Leaf != c.name:
		return fmt.Errorf("%q reports for %.64q", c.name, r.Leaf)
	}
	return errors.Join(named(r.Leaf, r.Node, r.Locality), h.foreign(c, r.Leaf, r.Node))
}

// foreign says that a relay speaks for a node that is not its own, or for a leaf there.
func (h *Hub) foreign(c *child, leaf, node string) error {
	if !c.relay || c.guest.Node == "" {
		return nil
	}
	if node != "" && node != c.guest.Node {
		return fmt.Errorf("%q is of node %q and speaks for %.64q", c.name, c.guest.Node, node)
	}
	if l := h.roster.leaves[leaf]; l != nil && l.state.Node != c.guest.Node {
		return fmt.Errorf("%q is of node %q and speaks for %q, a leaf of %q", c.name, c.guest.Node, leaf, l.state.Node)
	}
	return nil
}

// see takes what a node saw, or says why it is not passed up. Only relays see anything.
func (h *Hub) see(c *child, n *pb.NodeReport, at int64) error {
	if n.Node == "" {
		n.Node = c.node
	}
	switch size := proto.Size(n); {
	case !c.relay:
		return fmt.Errorf("%q is no relay and reports for node %.64q", c.name, n.Node)
	case size > maxReport:
		return fmt.Errorf("%q reports %d bytes of its node, at most %d", c.name, size, maxReport)
	}
	if err := errors.Join(named(n.Node, n.Locality), h.foreign(c, "", n.Node)); err != nil {
		return err
	}
	n.AgeUs = wire.Age(n.AgeUs)
	if !h.roster.sees(n, at) {
		return fmt.Errorf("report %d of node %q came before, or is too old to tell", n.Sequence, n.Node)
	}
	h.outbox.see(h.now(), at, n)
	return nil
}

func (h *Hub) relayed(c *child, s *pb.LeafState, at int64) {
	err := named(s.Leaf, s.Node, s.Identity, s.Locality, s.Library, s.LibraryVersion, s.Via, s.Version.GetStoreId(), s.Nacked.GetStoreId())
	if err = errors.Join(err, h.foreign(c, s.Leaf, s.Node)); err != nil {
		h.drop(err)
		return
	}
	heard := at - wire.Age(s.AgeUs)
	s.AgeUs = 0
	if s.Node == "" {
		s.Node = c.node
	}
	if s.Via == "" {
		s.Via = c.name
	}
	h.learn(c, s, heard)
}

// stamp says which node witnessed a report, the first relay's word, and how old it can be.
func (h *Hub) stamp(c *child, r *pb.LeafReport) {
	r.AgeUs = wire.Age(r.AgeUs)
	for _, q := range r.Spent {
		q.RemainingUs = wire.Age(q.RemainingUs)
	}
	if !c.relay || r.Node == "" {
		r.Node = c.node
	}
	if !c.relay && r.Locality == "" {
		r.Locality = c.locality
	}
}

// flush passes up what is due, and says when there is more.
func (h *Hub) flush(now int64) (next int64) {
	states, reports, next := h.drain(now)
	for _, b := range batches(states, reports) {
		h.config.Up(now, b)
	}
	return next
}

func (h *Hub) drain(now int64) ([]*pb.LeafState, []waitingReport, int64) {
	h.mu.Lock()
	defer h.unlock()
	if due := h.outbox.due(len(h.roster.leaves)); due > now && !h.closing {
		return nil, nil, due
	}
	if h.outbox.lost > 0 {
		h.counts.Dropped += uint64(h.outbox.lost)
		h.events = append(h.events, Event{Kind: Dropped, Detail: fmt.Sprintf("%d reports: more than %d bytes waited", h.outbox.lost, maxOutbox)})
	}
	return h.roster.drain(now), h.outbox.drain(now), never
}

// Leaves returns all leaves known here, direct or behind relays, by name.
func (h *Hub) Leaves() []*pb.LeafState {
	h.mu.Lock()
	defer h.unlock()
	return h.roster.all(h.now())
}

// Resend puts all leaves' states into the next report: the parent is a new one.
func (h *Hub) Resend() {
	h.mu.Lock()
	defer h.unlock()
	h.roster.resend()
	h.outbox.touch(h.now(), false)
	h.poke()
}
