package hub

import (
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// lane is one track of one view towards one child: at most one update is in flight, and
// what comes meanwhile is only a dirty bit.
type lane struct {
	sub    *subscription
	track  *track
	dirty  bool        // in its child's queue
	held   point       // what the child has
	nacked point       // what it refused last
	flying *wire.State // in flight
	sent   int64       // since when
	done   *wire.State // sent, or needs no sending
	behind bool        // the child has more than is known here
}

// next is what to send now; nil: nothing.
func (l *lane) next(now int64) *delta {
	s := l.track.state
	if s == nil || l.flying != nil || l.done == s {
		return nil
	}
	l.done = s
	l.behind = l.ahead(s)
	if l.behind || l.nacked.may(s) {
		return nil
	}
	l.flying, l.sent = s, now
	return l.track.delta(l.held)
}

// ahead says whether the child holds a later version of the same store than s.
func (l *lane) ahead(s *wire.State) bool {
	v := l.held.version
	return v != nil && v.StoreId == s.Version().StoreId && l.track.order(v, s.Version()) > 0
}

// ack takes what the child says it holds; true: it took what was in flight. News of an
// earlier state that crosses an update moves nothing.
func (l *lane) ack(p point) bool {
	switch {
	case l.flying == nil:
		if l.track.order(p.version, l.held.version) != 0 || p.digest != "" && p.digest != l.held.digest {
			l.held, l.done = p, nil
		}
	case p.may(l.flying):
		l.held, l.flying, l.nacked = pointOf(l.flying), nil, point{}
		return true
	case l.track.order(p.version, l.flying.Version()) > 0: // it has more than it had said
		l.held, l.flying, l.done = p, nil, nil
	}
	return false
}

// nack takes the refusal of what is in flight: nothing is sent until there is other data.
func (l *lane) nack(v *pb.Version) bool {
	if l.flying == nil || !(point{version: v}).may(l.flying) {
		return false
	}
	l.nacked, l.flying = pointOf(l.flying), nil
	return true
}

// claim takes what the child said it holds when it came.
func (l *lane) claim(h *pb.Held) {
	l.held = point{h.GetVersion(), string(h.GetDigest())}
	l.nacked = point{version: h.GetNacked()}
}
