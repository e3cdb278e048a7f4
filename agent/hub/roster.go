package hub

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	maxLeaves = 100_000
	maxNodes  = 20_000                              // that report of themselves
	keepLost  = int64(time.Hour / time.Microsecond) // leaves known in the last hour: control-plane.md, leases
)

// leaf is what is known of one leaf.
type leaf struct {
	state *pb.LeafState // replaced, never changed; without an age
	via   *child        // who speaks for it; nil: its way here was lost, and it may live
	heard int64
	once  route.Once // its reports
}

// watcher is a node that reports of itself.
type watcher struct {
	heard int64
	once  route.Once
}

// heardAt is when the leaf was heard: a direct one with each message of its stream.
func (l *leaf) heardAt() int64 {
	if l.via != nil && !l.via.relay {
		return l.via.seenAt
	}
	return l.heard
}

// roster knows the leaves below, and which of them the parent has not heard about.
type roster struct {
	leaves map[string]*leaf
	news   map[string]bool
	nodes  map[string]*watcher
}

func newRoster() roster {
	return roster{leaves: map[string]*leaf{}, news: map[string]bool{}, nodes: map[string]*watcher{}}
}

// direct says whether a leaf is connected here itself: then no relay speaks for it.
func (r *roster) direct(leaf string) bool {
	l := r.leaves[leaf]
	return l != nil && l.via != nil && !l.via.relay
}

// set takes what via says of a leaf; true: it is news. What a relay says of an older process
// is not, nor of a leaf that speaks for itself, nor the end of one that it speaks for no more.
func (r *roster) set(via *child, s *pb.LeafState, heard int64) bool {
	l := r.leaves[s.Leaf]
	switch {
	case via.relay && r.direct(s.Leaf):
		return false
	case l == nil && !r.room():
		return false
	case l == nil:
		l = &leaf{}
		r.leaves[s.Leaf] = l
	case via.relay && s.Incarnation < l.state.Incarnation, s.Gone && l.via != via:
		return false
	case via.relay && l.via != nil && l.via != via && heard < l.heardAt():
		return false // it has another way here since
	}
	l.via, l.heard = via, heard
	if s.Gone {
		l.via = nil
	}
	if proto.Equal(l.state, s) {
		return false
	}
	l.state = s
	r.news[s.Leaf] = true
	return true
}

// room tells whether one more leaf can be known. When all places are taken, one whose way was lost gives
// its own: who comes under ever new names must not keep others from being heard.
func (r *roster) room() bool {
	if len(r.leaves) < maxLeaves {
		return true
	}
	for name, l := range r.leaves {
		if l.via == nil {
			delete(r.leaves, name)
			delete(r.news, name)
			return true
		}
	}
	return false
}

// speaks notes that via reported for a leaf, whether or not it told its state before. False:
// the report may have been counted before.
func (r *roster) speaks(via *child, p *pb.LeafReport, heard int64) bool {
	l := r.leaves[p.Leaf]
	if l == nil {
		s := &pb.LeafState{Leaf: p.Leaf, Node: p.Node, Locality: p.Locality, Incarnation: p.Incarnation, Via: via.name}
		if r.set(via, s, heard); r.leaves[p.Leaf] == nil {
			return false
		}
		l = r.leaves[p.Leaf]
	}
	if fresh, _ := l.once.Take(p.Incarnation, p.Sequence); !fresh {
		return false
	}
	if p.Incarnation >= l.state.Incarnation && !l.state.Gone {
		l.via, l.heard = via, heard
	}
	return true
}

// sees notes what a node reports. False: it may have been counted before.
func (r *roster) sees(n *pb.NodeReport, at int64) bool {
	w := r.nodes[n.Node]
	switch {
	case w == nil && len(r.nodes) >= maxNodes:
		return false
	case w == nil:
		w = &watcher{}
		r.nodes[n.Node] = w
	}
	w.heard = max(w.heard, at)
	fresh, _ := w.once.Take(n.Incarnation, n.Sequence)
	return fresh
}

// lost takes the end of a child; true: a leaf is gone, which is news. A direct one is if
// that is known; leaves behind a relay, and others, may live and turn up elsewhere.
func (r *roster) lost(c *child, gone bool) bool {
	if c.relay {
		for _, l := range r.leaves {
			if l.via == c {
				l.via = nil
			}
		}
		return false
	}
	l := r.leaves[c.name]
	if l == nil || l.via != c {
		return false
	}
	l.heard, l.via = c.seenAt, nil
	if gone {
		l.state = proto.CloneOf(l.state)
		l.state.Gone = true
		r.news[c.name] = true
	}
	return gone
}

// all are the leaves as of now, by name.
func (r *roster) all(now int64) []*pb.LeafState {
	return r.states(now, slices.Sorted(maps.Keys(r.leaves)))
}

// drain takes what is news, and forgets the gone.
func (r *roster) drain(now int64) []*pb.LeafState {
	out := r.states(now, slices.Sorted(maps.Keys(r.news)))
	for _, s := range out {
		if s.Gone {
			delete(r.leaves, s.Leaf)
		}
	}
	clear(r.news)
	return out
}

func (r *roster) states(now int64, names []string) []*pb.LeafState {
	out := make([]*pb.LeafState, 0, len(names))
	for _, name := range names {
		if l := r.leaves[name]; l != nil {
			s := proto.CloneOf(l.state)
			s.AgeUs = max(0, now-l.heardAt())
			out = append(out, s)
		}
	}
	return out
}

// resend makes all of it news.
func (r *roster) resend() {
	for name, l := range r.leaves {
		if l.via != nil {
			r.news[name] = true
		}
	}
}

// forget drops the leaves that nobody has spoken for in an hour, and the nodes.
func (r *roster) forget(now int64) {
	maps.DeleteFunc(r.leaves, func(name string, l *leaf) bool {
		return l.via == nil && !r.news[name] && now-l.heard > keepLost
	})
	maps.DeleteFunc(r.nodes, func(_ string, w *watcher) bool { return now-w.heard > keepLost })
}
