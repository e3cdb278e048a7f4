package hub

import (
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
	h.note(Nacked, c, cut(m.Reason))
	h.amend(c, func(s *pb.LeafState) { s.Nack, s.Nacked = m.Reason, m.Version })
}

// amend changes the state of a direct leaf.
func (h *Hub) amend(c *child, change func(*pb.LeafState)) {
	l := h.roster.leaves[c.name]
	if c.relay || l == nil || l.via != c {
		return
	}
	s := proto.CloneOf(l.state)
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
		if err := h.refuses(c, r); err != nil {
			h.dropped.add(err)
			continue
		}
		h.stamp(c, r)
		h.roster.speaks(c, r, at-r.AgeUs)
		h.outbox.add(h.now(), at, r)
	}
	h.poke()
}

// refuses says why a report of a leaf is not passed up.
func (h *Hub) refuses(c *child, r *pb.LeafReport) error {
	switch size := proto.Size(r); {
	case size > maxReport:
		return fmt.Errorf("%q reports %d bytes, at most %d", c.name, size, maxReport)
	case c.relay && h.roster.direct(r.Leaf), !c.relay && r.Leaf != c.name:
		return fmt.Errorf("%q reports for %.64q", c.name, r.Leaf)
	}
	return named(r.Leaf, r.Node, r.Locality)
}

func (h *Hub) relayed(c *child, s *pb.LeafState, at int64) {
	if err := named(s.Leaf, s.Node, s.Identity, s.Locality, s.Library, s.LibraryVersion); err != nil {
		h.dropped.add(err)
		return
	}
	heard := at - wire.Age(s.AgeUs)
	s.AgeUs = 0
	if s.Node == "" {
		s.Node = c.node
	}
	h.learn(c, s, heard)
}

// stamp says which node witnessed a report, the first relay's word, and how old it can be.
func (h *Hub) stamp(c *child, r *pb.LeafReport) {
	r.AgeUs = wire.Age(r.AgeUs)
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

func (h *Hub) drain(now int64) ([]*pb.LeafState, []*pb.LeafReport, int64) {
	h.mu.Lock()
	defer h.unlock()
	if due := h.outbox.due(len(h.roster.leaves)); due > now {
		return nil, nil, due
	}
	if h.outbox.lost > 0 {
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
