package agent

import (
	"sync"
	"time"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/uplink"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// relay ties the hub to the link: one subscription upstream per distinct view below. It
// is the hub's Source and the link's Handler.
type relay struct {
	hub   *hub.Hub
	link  *uplink.Link
	shelf *shelf
	sight *sight
	now   func() int64

	incarnation uint64

	mu      sync.Mutex
	last    uint32
	numbers map[string]uint32 // by the view's key
	views   map[uint32]hub.View
}

// ears are who hears what the relay's parts tell.
type ears struct {
	child  func(hub.Event)
	link   func(uplink.Event)
	record func(leaf string, r *pb.Records)
}

func newRelay(c Config, d door, e ears) (*relay, error) {
	if c.RecordsMiB < 0 {
		e.record = nil
	}
	start := time.Now()
	r := &relay{
		now: func() int64 { return time.Since(start).Microseconds() + 1 }, incarnation: uint64(start.UnixMicro()),
		numbers: map[string]uint32{}, views: map[uint32]hub.View{},
	}
	var err error
	r.link, err = uplink.New(uplink.Config{
		Parents: c.Parents, TLS: c.TLS, Token: c.TokenFile, Dial: c.Dial, Dir: c.Dir, Now: r.now, Observe: e.link,
		Hello: &pb.Hello{
			Library: "agent", LibraryVersion: c.Version, Leaf: c.Node, Node: c.Node, Locality: c.Locality,
			Incarnation: r.incarnation, Relay: true,
		},
	}, r)
	r.hub = hub.New(hub.Config{
		Source: r, Up: r.up, Now: r.now, Node: c.Node, Observe: e.child, Records: e.record, Authorize: d.authorize,
		Age: -1, // there is no other agent on the node to move on to
	})
	r.sight = newSight(c.Locality, r.now)
	r.shelf = newShelf(r.now, r.hub.PublishUrgent) // the parent waited for more already
	return r, err
}

func (r *relay) up(at int64, report *pb.Report) { r.link.Report(at, report) }

// Subscribe asks the parent for a view under a number of its own.
func (r *relay) Subscribe(v hub.View) {
	r.mu.Lock()
	r.last++
	number := r.last
	r.numbers[v.Key()], r.views[number] = number, v
	r.mu.Unlock()
	r.link.Subscribe(number, uplink.Want{Selector: v.Selector, Identity: v.Identity, FleetOnly: v.FleetOnly})
}

// Unsubscribe drops it.
func (r *relay) Unsubscribe(v hub.View) {
	r.mu.Lock()
	number := r.numbers[v.Key()]
	delete(r.numbers, v.Key())
	delete(r.views, number)
	r.mu.Unlock()
	r.shelf.drop(v)
	r.sight.lost(number)
	r.link.Unsubscribe(number)
}

// HeadAges are the link's: how stale the origins are, over all relays above.
func (r *relay) HeadAges() []*pb.HeadAge { return r.link.Status().Heads }

// Apply passes a state on as it is; what it means is for the leaves to say.
func (r *relay) Apply(view uint32, s *wire.State, _ bool) ([]*pb.Unusable, error) {
	r.mu.Lock()
	v, ok := r.views[view]
	r.mu.Unlock()
	switch {
	case !ok:
		return nil, nil
	case s.Track() == pb.Track_TRACK_CATALOG:
		r.shelf.put(v, s)
	default:
		r.hub.PublishUrgent(v, s) // the parent waited for more already
	}
	r.sight.saw(view, s)
	return nil, nil
}

// Grant passes a grant on; what is left of it is for the hub to say.
func (r *relay) Grant(dated int64, g *pb.Grant) { r.hub.Grant(dated, g) }

// Ask passes a question on to the leaf that it is for.
func (r *relay) Ask(q *pb.Question, answer func(*pb.Answer)) { r.hub.Pass(q, answer) }
