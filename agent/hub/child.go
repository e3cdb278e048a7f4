package hub

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	maxViews     = 1024                                  // of one relay
	maxLeafViews = 16                                    // of one leaf, which has one
	maxAllViews  = 10_000                                // of all, and of those that left within a minute
	ackWithin    = 10e6                                  // µs: rule 7
	silence      = 3 * int64(heartbeat/time.Microsecond) // rule 10
)

type stream = pb.SyncService_SyncServer

// child is one stream. The hub's mutex guards all but the line.
type child struct {
	line
	queue
	who

	left   bool
	seen   uint64 // its last sequence; 0: no hello yet
	seenAt int64
	claims map[claim]*pb.Held // what its hello says it holds, of views not asked for yet
	views  map[uint32]*subscription
}

// who is who a child is: its hello tells, and its connection.
type who struct {
	name, node, locality string
	key                  string // of whom there is one
	relay                bool
	sort                 string // leaf, or what a relay calls itself
	guest                Guest
	hello                *pb.Hello // to ask again who it is; without what it holds
}

// queue is what is to be sent, and who sends it.
type queue struct {
	write   func() // starts a writer
	writing bool   // there is one; it ends when nothing is left
	due     duties

	goodbye   string // before all else
	grants    []waitingGrant
	questions []waitingQuestion
	dirty     []*lane

	asking       int    // questions without an answer
	lastQuestion uint64 // number
}

// duties are what comes with time. Thousands of children have no timers for them: the
// hub's one looks each second.
type duties struct {
	beat, check     bool  // to be done now
	beaten, checked int64 // when each last was
	until           int64 // when the stream is old
}

// line is what a child's reader, its writer and whoever ends it share.
type line struct {
	stream stream
	host   string
	local  bool          // a lost connection means that its process is gone
	done   chan struct{} // closed when the stream is to end
	once   sync.Once
	dates  *wire.Dates
	err    error // why it ends; read after done
	gone   bool  // the process is known to have ended it; read after done
}

type claim struct {
	track pb.Track
	view  uint32
}

// subscription is a view as one child calls it.
type subscription struct {
	child  *child
	view   *view
	number uint32
	lanes  []lane // of the view's tracks
}

func (s *subscription) lane(t pb.Track) *lane {
	for i := range s.lanes {
		if s.lanes[i].track.kind == t {
			return &s.lanes[i]
		}
	}
	return nil
}

func newChild(now int64, s stream, host string, local bool) *child {
	return &child{views: map[uint32]*subscription{}, seenAt: now, line: line{
		stream: s, host: host, local: local, dates: wire.NewDates(now),
		done: make(chan struct{}),
	}}
}

// end ends the stream, once.
func (l *line) end(err error, gone bool) {
	l.once.Do(func() {
		l.err, l.gone = err, gone
		close(l.done)
	})
}

// poke has a child that was welcomed be sent what there is.
func (c *child) poke() {
	if c.seen > 0 && !c.left && !c.writing {
		c.writing = true
		c.write()
	}
}

func (c *child) dismiss(reason string) {
	c.goodbye = reason
	c.poke()
}

// mark sets a lane's dirty bit.
func (c *child) mark(l *lane) {
	if !l.dirty {
		l.dirty = true
		c.dirty = append(c.dirty, l)
	}
	c.poke()
}

// clean takes the next dirty lane.
func (c *child) clean() *lane {
	l := c.dirty[0]
	c.dirty, l.dirty = c.dirty[1:], false
	return l
}

// late says why the stream must end: a child that is stuck, or silent.
func (c *child) late(now int64) error {
	if c.seen == 0 {
		if now-c.seenAt < us(helloWithin) {
			return nil
		}
		return status.Errorf(codes.DeadlineExceeded, "no hello within %v", helloWithin)
	}
	for _, s := range c.views {
		for i := range s.lanes {
			if l := &s.lanes[i]; l.flying != nil && now-l.sent >= ackWithin {
				return status.Errorf(codes.DeadlineExceeded, "%v not acked for %d s", l.track.kind, (now-l.sent)/1e6)
			}
		}
	}
	if now-c.seenAt > silence {
		return status.Errorf(codes.DeadlineExceeded, "nothing heard for %d s", (now-c.seenAt)/1e6)
	}
	return nil
}
