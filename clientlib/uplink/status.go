package uplink

import (
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Status is how a link does.
type Status struct {
	Connected bool
	Parent    string        // the one tried last
	Since     int64         // when Connected last changed, µs; 0: never
	Heads     []*pb.HeadAge // how stale the origins are, over all relays, as of now
	Err       error         // why the last stream ended
}

type condition struct {
	connected bool
	parent    string
	since     int64
	err       error
	heads     []head // by track
}

// head is what was last heard of the origin of a track.
type head struct {
	track      pb.Track
	at         int64
	generation uint64
}

// Status says how the link does now.
func (l *Link) Status() Status {
	now := l.cfg.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{Connected: l.status.connected, Parent: l.status.parent, Since: l.status.since, Err: l.status.err}
	for _, h := range l.status.heads {
		s.Heads = append(s.Heads, &pb.HeadAge{Track: h.track, AgeUs: max(0, now-h.at), Generation: h.generation})
	}
	return s
}

func (l *Link) connected(parent string) {
	l.mu.Lock()
	l.status.connected, l.status.parent, l.status.since, l.status.err = true, parent, l.cfg.Now(), nil
	l.mu.Unlock()
	l.observe(Event{Kind: Connected, Parent: parent})
}

// lost notes why a stream ended. A parent that stays away is one change of state, and that none is
// found after a goodbye is another.
func (l *Link) lost(parent string, err error) {
	l.mu.Lock()
	news := l.status.connected || l.status.err == nil || orderly(l.status.err)
	if l.status.connected {
		l.status.since = l.cfg.Now()
	}
	l.status.connected, l.status.parent, l.status.err = false, parent, err
	l.mu.Unlock()
	if news {
		l.observe(Event{Kind: Lost, Parent: parent, Err: err})
	}
}

// heard dates the heads of a heartbeat. An origin's head never becomes older than known.
func (l *Link) heard(dated int64, heads []*pb.HeadAge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range heads {
		l.status.note(head{h.GetTrack(), dated - wire.Age(h.GetAgeUs()), h.GetGeneration()})
	}
}

// came notes what a catalog's head is at least: heartbeats are seconds behind what comes down. It says
// nothing of how old that is.
func (l *Link) came(u *pb.Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.status.heads {
		if h := &l.status.heads[i]; h.track == u.GetTrack() && h.track == pb.Track_TRACK_CATALOG {
			h.generation = max(h.generation, u.GetVersion().GetGeneration())
		}
	}
}

func (c *condition) note(n head) {
	if n.track != pb.Track_TRACK_CATALOG && n.track != pb.Track_TRACK_FLEET {
		return
	}
	for i := range c.heads {
		if h := &c.heads[i]; h.track == n.track {
			h.at, h.generation = max(h.at, n.at), n.generation
			return
		}
	}
	c.heads = append(c.heads, n)
}
