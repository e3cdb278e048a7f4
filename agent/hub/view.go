package hub

import (
	"strconv"
	"time"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// View is what one identity may see and wants to see of the catalog. Children with equal
// views share one.
type View struct {
	Selector  wire.Selector
	Identity  string // on whose behalf; empty: nobody's in particular
	FleetOnly bool   // a relay's that has its catalog from elsewhere
}

// Key is the same for equal views, and for no others.
func (v View) Key() string {
	key := strconv.Quote(v.Identity) + " " + v.Selector.Key()
	if v.FleetOnly {
		return "fleet " + key // an identity begins with a quote
	}
	return key
}

// Source says what there is to serve. Subscribe and Unsubscribe come from one goroutine,
// in order, and may call Publish; HeadAges comes from any. None may block.
type Source interface {
	Subscribe(View)   // its first child is here: publish its states, now and when they change
	Unsubscribe(View) // its last child left a minute ago
	HeadAges() []*pb.HeadAge
}

// keepView is how long a view outlives its last child, who may only reconnect.
const keepView = int64(time.Minute / time.Microsecond)

// view is a view with its two tracks.
type view struct {
	View
	tracks []*track // catalog, unless it is for the fleet's only, and fleet
	subs   map[*subscription]bool
	idle   int64 // since when it has no child; 0: it has
	asked  bool  // the source knows
}

func newView(v View) *view {
	out := &view{View: v, subs: map[*subscription]bool{}}
	if !v.FleetOnly {
		out.tracks = append(out.tracks, newTrack(pb.Track_TRACK_CATALOG, catalogPace))
	}
	out.tracks = append(out.tracks, newTrack(pb.Track_TRACK_FLEET, fleetPace))
	return out
}

func (v *view) track(kind pb.Track) *track {
	for _, t := range v.tracks {
		if t.kind == kind {
			return t
		}
	}
	return nil
}

// mark makes a track's lanes dirty.
func (v *view) mark(t *track) {
	for s := range v.subs {
		s.child.mark(s.lane(t.kind))
	}
}

// subscribe gives a child a view under a number, in place of what had that number. It is
// sent the whole, or what its claim lacks.
func (h *Hub) subscribe(c *child, v View, number uint32) {
	h.unsubscribe(c, number)
	s := &subscription{child: c, view: h.view(v), number: number}
	s.lanes = make([]lane, len(s.view.tracks))
	for i, t := range s.view.tracks {
		s.lanes[i].sub, s.lanes[i].track = s, t
		s.lanes[i].claim(c.claims[claim{t.kind, number}])
		delete(c.claims, claim{t.kind, number})
		c.mark(&s.lanes[i])
	}
	c.views[number] = s
	s.view.subs[s], s.view.idle = true, 0
}

// view finds a view, or makes one that the source is to be asked for.
func (h *Hub) view(v View) *view {
	key := v.Key()
	if h.views[key] == nil {
		h.views[key] = newView(v)
		h.poke()
	}
	return h.views[key]
}

func (h *Hub) unsubscribe(c *child, number uint32) {
	s := c.views[number]
	if s == nil {
		return
	}
	delete(c.views, number)
	delete(s.view.subs, s)
	if len(s.view.subs) == 0 {
		s.view.idle = h.now()
	}
}

// ask tells the source which views are wanted and which no more. Run alone calls it.
func (h *Hub) ask(now int64) {
	wanted, unwanted := h.turnover(now)
	for _, v := range unwanted {
		h.config.Source.Unsubscribe(v)
	}
	for _, v := range wanted { // after that: one may have gone and come back
		h.config.Source.Subscribe(v)
	}
}

// makeRoom drops a view that nobody has any more before its minute is over: a child that
// changes its mind all the time keeps nobody else out.
func (h *Hub) makeRoom() bool {
	for key, v := range h.views {
		if v.idle == 0 {
			continue
		}
		delete(h.views, key)
		if v.asked {
			h.unwanted = append(h.unwanted, v.View)
			h.poke()
		}
		return true
	}
	return false
}

func (h *Hub) turnover(now int64) (wanted, unwanted []View) {
	h.mu.Lock()
	defer h.unlock()
	unwanted, h.unwanted = h.unwanted, nil
	for key, v := range h.views {
		switch {
		case !v.asked:
			v.asked = true
			wanted = append(wanted, v.View)
		case v.idle != 0 && now-v.idle >= keepView:
			delete(h.views, key)
			unwanted = append(unwanted, v.View)
		}
	}
	return wanted, unwanted
}
