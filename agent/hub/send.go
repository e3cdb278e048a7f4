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
	h.mu.Lock()
	m := c.answer(h.now())
	h.mu.Unlock()
	m.Message = &pb.SyncResponse_Heartbeat{Heartbeat: &pb.Heartbeat{
		Heads: h.config.Source.HeadAges(), KeepsRecords: h.config.Records != nil,
	}}
	return h.send(c, m)
}

// answer begins a message with what was seen until now, by which the child dates it. The
// ages in it are to be read later: this process may be stopped in between (rule 9).
func (c *child) answer(now int64) *pb.SyncResponse {
	return &pb.SyncResponse{Seen: c.seen, HeldUs: max(0, now-c.seenAt)}
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
		m := h.load(c).message(h)
		if m.GetMessage() == nil {
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
	answer  *pb.SyncResponse
	goodbye string
	grant   *pb.Grant
	delta   *delta
	sub     *subscription
}

func (h *Hub) load(c *child) load {
	h.mu.Lock()
	defer h.unlock()
	now := h.now()
	l := h.next(c, now)
	l.answer = c.answer(now)
	return l
}

// next takes a goodbye, else grants, which run out, else states.
func (h *Hub) next(c *child, now int64) load {
	if c.goodbye != "" {
		return load{goodbye: c.goodbye}
	}
	for len(c.grants) > 0 {
		w := c.grants[0]
		c.grants = c.grants[1:]
		if g := aged(w.grant, now-w.at); g != nil {
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

// message is the answer with the load; without one it says nothing.
func (l load) message(h *Hub) *pb.SyncResponse {
	switch {
	case l.goodbye != "":
		l.answer.Message = &pb.SyncResponse_Goodbye{Goodbye: &pb.Goodbye{Reason: l.goodbye, AfterUs: us(comeBack)}}
	case l.grant != nil:
		l.answer.Message = &pb.SyncResponse_Grant{Grant: l.grant}
	case l.delta != nil:
		u := l.delta.update(h.now(), l.sub.view.View, l.sub.number)
		u.HeadGeneration = h.head(u.Track)
		l.answer.Message = &pb.SyncResponse_Update{Update: u}
	}
	return l.answer
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

// send sends; false: the stream is over.
func (h *Hub) send(c *child, m *pb.SyncResponse) bool {
	m.Sequence = c.dates.Sent(h.now())
	if err := c.stream.Send(m); err != nil {
		c.end(err, c.local)
		return false
	}
	return true
}
