package hub

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Guest is who a child is, by its connection: never by what it says of itself.
type Guest struct {
	Identity string // on whose behalf it sees what it sees; empty: nobody's in particular
	Node     string // the only node that it may speak for; empty: any
	Relay    bool   // it may speak for leaves
	Replica  bool   // it may have the fleet's state of everything
}

// recheck is how often a live stream is asked for again: control-plane.md, who may do what.
const recheck = 3 * heartbeat

// admit asks who a child is. A hello that claims more than its connection may is refused.
func (h *Hub) admit(c *child, m *pb.Hello) (Guest, error) {
	if h.config.Authorize == nil {
		return Guest{Relay: m.Relay, Replica: m.Relay}, nil
	}
	g, err := h.config.Authorize(c.stream.Context(), m)
	switch {
	case err != nil:
		return g, err
	case m.Relay && !g.Relay:
		return g, status.Errorf(codes.PermissionDenied, "%q may not speak for leaves", m.Leaf)
	case m.Relay && g.Node != "" && m.Node != g.Node:
		return g, status.Errorf(codes.PermissionDenied, "%q says it is node %q, its connection says %q", m.Leaf, m.Node, g.Node)
	}
	return g, nil
}

// readmit asks again for a live stream, and ends one that lost its right, or is another's
// now. Not to be able to say ends nothing.
func (h *Hub) readmit(c *child) bool {
	g, err := h.admit(c, c.hello)
	switch code := status.Code(err); {
	case code == codes.OK && g != c.guest:
		err = status.Error(codes.Aborted, "who this is has changed: come in again")
	case code != codes.PermissionDenied && code != codes.Unauthenticated:
		return true
	}
	c.end(err, false)
	return false
}
