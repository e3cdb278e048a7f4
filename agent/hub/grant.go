package hub

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// maxGrants wait for one child: more than a leader hands out between two sends.
const maxGrants = 256

// waitingGrant is a grant as it was at a time.
type waitingGrant struct {
	grant *pb.Grant
	at    int64
}

// aged is g as it is by µs later: what counts from its sending is shorter. Nil: it is over.
func aged(g *pb.Grant, by int64) *pb.Grant {
	if by <= 0 {
		return g
	}
	g = proto.CloneOf(g)
	if p := g.GetPermit(); p != nil {
		if p.UseByUs -= by; p.UseByUs <= 0 {
			return nil
		}
	}
	if l := g.GetLease(); l != nil {
		if l.DurationUs -= by; l.DurationUs <= 0 {
			return nil
		}
	}
	return g
}

// Grant passes a grant, as it was at a time, to the child that speaks for its leaf; false:
// there is none, or it does not take what it has.
func (h *Hub) Grant(at int64, g *pb.Grant) bool {
	h.mu.Lock()
	defer h.unlock()
	l := h.roster.leaves[g.GetLeaf()]
	if l == nil || l.via == nil || len(l.via.grants) >= maxGrants {
		return false
	}
	l.via.grants = append(l.via.grants, waitingGrant{g, at})
	l.via.poke()
	return true
}
