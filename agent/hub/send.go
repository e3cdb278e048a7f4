package hub

import (
	"cmp"
	"math/rand/v2"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	heartbeat = 10 * time.Second       // rule 10
	comeBack  = 5 * time.Second        // what goodbye allows children to spread over, at most
	comeSoon  = 500 * time.Millisecond // and at least
	// DefaultAge is when half of the streams of that age are moved on: rule 12.
	DefaultAge = 30 * time.Minute
	mostAges   = 8
)

// write sends to a child what it lacks, until there is nothing more or the stream ends.
func (h *Hub) write(c *child) {
	for {
		l := h.load(c)
		if l.check && !h.readmit(c) {
			return
		}
		m := l.message(h)
		if m.GetMessage() == nil {
			if l.check {
				continue
			}
			return
		}
		if !h.send(c, m) {
			return
		}
		if m.GetGoodbye() != nil {
			c.end(nil, false)
			return
		}
	}
}

// heartbeat says how stale the origins are.
func (h *Hub) heartbeat() *pb.Heartbeat {
	return &pb.Heartbeat{Heads: h.config.Source.HeadAges(), KeepsRecords: h.config.Records != nil}
}

// answer begins a message with what was seen until now, by which the child dates it. The
// ages in it are to be read later: this process may be stopped in between (rule 9).
func (c *child) answer(now int64) *pb.SyncResponse {
	return &pb.SyncResponse{Seen: c.seen, HeldUs: max(0, now-c.seenAt)}
}

// lifetime is until when a stream that begins now is not old: one age, and after each that passed
// another one for half of the streams. Of two parents one would have all children else, and after
// an age the other one.
func (h *Hub) lifetime(now int64) int64 {
	age := h.config.Age
	switch {
	case age < 0:
		return never
	case age == 0:
		age = DefaultAge
	}
	ages := time.Duration(1)
	for ages < mostAges && rand.N(2) == 0 {
		ages++
	}
	return now + us(ages*age-age/10+rand.N(age/5+1))
}

// remind has a child be sent what is due with time.
func (c *child) remind(now int64) {
	if c.seen == 0 {
		return
	}
	if now-c.due.beaten >= us(heartbeat-sweepEach/2) { // one is looked for each second
		c.due.beat, c.due.beaten = true, now
		c.poke()
	}
	if c.hello != nil && now-c.due.checked >= us(recheck-sweepEach/2) {
		c.due.check, c.due.checked = true, now
		c.poke()
	}
	if now >= c.due.until && c.goodbye == "" {
		c.dismiss("the stream is old")
	}
}

// load is what goes into one message.
type load struct {
	answer  *pb.SyncResponse
	check   bool // ask first whether it may still be here
	beat    bool
	goodbye string
	within  time.Duration // what the goodbye allows
	grant   *pb.Grant
	asks    *pb.Question
	delta   *delta
	sub     *subscription
}

// load takes what is next. When there is nothing, this was the last that the writer did.
func (h *Hub) load(c *child) load {
	h.mu.Lock()
	defer h.unlock()
	now := h.now()
	var l load
	if !c.left {
		l = h.next(c, now)
	}
	l.answer = c.answer(now)
	c.writing = !l.empty()
	return l
}

func (l *load) empty() bool {
	return !l.check && !l.beat && l.goodbye == "" && l.grant == nil && l.asks == nil && l.delta == nil
}

// next takes what came with time, then a goodbye, else grants and questions, which run out,
// else states.
func (h *Hub) next(c *child, now int64) load {
	switch {
	case c.due.check:
		c.due.check = false
		return load{check: true}
	case c.due.beat:
		c.due.beat = false
		return load{beat: true}
	case c.goodbye != "":
		return load{goodbye: c.goodbye, within: h.spread}
	}
	for len(c.grants) > 0 {
		w := c.grants[0]
		c.grants = c.grants[1:]
		if g := aged(w.grant, now-w.at); g != nil {
			return load{grant: g}
		}
	}
	for len(c.questions) > 0 {
		w := c.questions[0]
		c.questions = c.questions[1:]
		if q := w.left(now); q != nil {
			return load{asks: q}
		}
	}
	return h.nextState(c, now)
}

func (h *Hub) nextState(c *child, now int64) load {
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
func (l load) message(h *Hub) message {
	switch {
	case l.beat:
		l.answer.Message = &pb.SyncResponse_Heartbeat{Heartbeat: h.heartbeat()}
	case l.goodbye != "":
		l.answer.Message = &pb.SyncResponse_Goodbye{Goodbye: &pb.Goodbye{Reason: l.goodbye, AfterUs: us(cmp.Or(l.within, comeBack))}}
	case l.grant != nil:
		l.answer.Message = &pb.SyncResponse_Grant{Grant: l.grant}
	case l.asks != nil:
		l.answer.Message = &pb.SyncResponse_Question{Question: l.asks}
	case l.delta != nil:
		u := l.delta.update(h.now(), l.sub.view.View, l.sub.number)
		u.HeadGeneration = h.head(u.Track)
		l.answer.Message = &pb.SyncResponse_Update{Update: u}
		return message{l.answer, l.delta}
	}
	return message{SyncResponse: l.answer}
}

// head is the generation of the newest catalog that the source knows of.
func (h *Hub) head(t pb.Track) uint64 {
	if t != pb.Track_TRACK_CATALOG {
		return 0
	}
	for _, a := range h.config.Source.HeadAges() {
		if a.Track == t {
			return a.Generation
		}
	}
	return 0
}

// send sends; false: the stream is over.
func (h *Hub) send(c *child, m message) bool {
	m.Sequence = c.dates.Sent(h.now())
	if err := c.stream.SendMsg(&m); err != nil {
		c.end(err, c.local)
		return false
	}
	if m.delta != nil {
		h.updates.Add(1)
		h.bytes.Add(uint64(m.delta.bytes))
	}
	return true
}
