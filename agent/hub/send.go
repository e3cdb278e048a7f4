package hub

import (
	"math/rand/v2"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	heartbeat = 10 * time.Second // rule 10
	comeBack  = 5 * time.Second  // what goodbye allows children to spread over
	// DefaultAge is when a stream is moved on: rule 12.
	DefaultAge = 30 * time.Minute
)

// write sends to a child what it lacks, until the stream ends. A first heartbeat tells it
// that it is welcome, whether or not there is anything to send.
func (h *Hub) write(c *child) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	aged := time.NewTimer(h.lifetime())
	defer aged.Stop()
	for alive := h.beat(c); alive && h.catchUp(c); {
		select {
		case <-c.done:
			return
		case <-c.wake:
		case <-beat.C:
			alive = h.beat(c)
		case <-aged.C:
			h.dismiss(c, "the stream is old")
		}
	}
}

// beat says how stale the origins are; false: the stream is over.
func (h *Hub) beat(c *child) bool {
	beat := &pb.Heartbeat{Heads: h.config.Source.HeadAges()}
	return h.send(c, &pb.SyncResponse{Message: &pb.SyncResponse_Heartbeat{Heartbeat: beat}})
}

func (h *Hub) lifetime() time.Duration {
	age := h.config.Age
	switch {
	case age < 0:
		return 1 << 62
	case age == 0:
		age = DefaultAge
	}
	return age - age/10 + rand.N(age/5+1)
}

// catchUp sends all there is to send now; false: the stream is over.
func (h *Hub) catchUp(c *child) bool {
	for {
		l := h.load(c)
		m := l.message(h)
		if m == nil {
			return true
		}
		if !h.send(c, m) {
			return false
		}
		if m.GetGoodbye() != nil {
			c.end(nil, false)
			return false
		}
	}
}

// load is what goes into one message.
type load struct {
	goodbye string
	grant   *pb.Grant
	delta   *delta
	sub     *subscription
}

// load takes the next: a goodbye, else grants, which run out, else states.
func (h *Hub) load(c *child) load {
	h.mu.Lock()
	defer h.unlock()
	now := h.now()
	if c.goodbye != "" {
		return load{goodbye: c.goodbye}
	}
	for len(c.grants) > 0 {
		w := c.grants[0]
		c.grants = c.grants[1:]
		if g := Aged(w.grant, now-w.at); g != nil {
			return load{grant: g}
		}
	}
	for len(c.dirty) > 0 {
		l := c.clean()
		if c.views[l.sub.number] != l.sub {
			continue // dropped meanwhile
		}
		was := l.behind
		d := l.next(now)
		if l.behind && !was {
			h.note(Behind, c, l.track.kind.String())
		}
		if d != nil {
			return load{delta: d, sub: l.sub}
		}
	}
	return load{}
}

func (l load) message(h *Hub) *pb.SyncResponse {
	switch {
	case l.goodbye != "":
		bye := &pb.Goodbye{Reason: l.goodbye, AfterUs: us(comeBack)}
		return &pb.SyncResponse{Message: &pb.SyncResponse_Goodbye{Goodbye: bye}}
	case l.grant != nil:
		return &pb.SyncResponse{Message: &pb.SyncResponse_Grant{Grant: l.grant}}
	case l.delta != nil:
		u := l.delta.update(h.now(), l.sub.view.View, l.sub.number)
		u.HeadGeneration = h.head(u.Track)
		return &pb.SyncResponse{Message: &pb.SyncResponse_Update{Update: u}}
	}
	return nil
}

// head is the generation of the newest catalog that the source knows of.
func (h *Hub) head(t pb.Track) uint64 {
	for _, a := range h.config.Source.HeadAges() {
		if t == pb.Track_TRACK_CATALOG && a.Track == t {
			return a.Generation
		}
	}
	return 0
}

// send names what was seen, so that the child can date the message; false: the stream is over.
func (h *Hub) send(c *child, m *pb.SyncResponse) bool {
	h.mu.Lock()
	m.Seen, m.HeldUs = c.seen, max(0, h.now()-c.seenAt)
	h.mu.Unlock()
	if err := c.stream.Send(m); err != nil {
		c.end(err, c.local)
		return false
	}
	return true
}
