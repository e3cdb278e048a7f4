package clientlib

import (
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// The bounds of what is recorded for the agent.
const (
	maxRecords   = 4096 // that wait; the oldest give way
	fewRecords   = 64
	maxBatch     = 64 << 10               // bytes of a message
	recordsEvery = 250 * time.Millisecond // 4 messages a second
	explainEvery = time.Second
	sampleOne    = 1000 // attempts: the first of so many is explained however it ended
	maxExplained = 128  // candidates of an explanation
)

// records is what the agent is to be told: a ring that grows to its bound. Whoever ends an
// attempt puts it in, and the loop sends.
type records struct {
	sent int64      // when the last message was, µs; the loop's
	left *pb.Record // did not fit the last message; the loop's

	mu           sync.Mutex // guards what follows
	ring         []entry
	first, count int
	lost         int64
	calls        uint64 // of which something was recorded
	seen         uint64 // attempts
	explainAt    int64  // not before, µs
}

// entry is an attempt, a call that was shed, or an event.
type entry struct {
	call        uint64
	attempt     AttemptInfo
	shed        *ShedError // the call's end: the attempt is none
	explanation *pb.Explanation
	event       *Event
}

// record keeps an attempt that has ended for the agent, if there is one.
func (c *Client) record(call *call, info *AttemptInfo) {
	if c.records == nil {
		return
	}
	e := entry{attempt: *info}
	if c.records.explains(c.clock.now(), info.Outcome.Kind) {
		e.explanation = c.explained(call)
	}
	c.records.put(call, &e)
}

// recordShed keeps the end of a call that no endpoint could take.
func (c *Client) recordShed(call *call, err error) {
	if c.records == nil || err == nil {
		return
	}
	var shed *ShedError
	if !errors.As(err, &shed) {
		return
	}
	now := c.clock.now()
	e := entry{shed: shed, attempt: AttemptInfo{
		Workload: text(call.workload), Tenant: text(call.request.tenant()), Started: c.clock.wall(call.began), Total: microseconds(now - call.began),
	}}
	if c.records.due(now) {
		e.explanation = c.explained(call)
	}
	c.records.put(call, &e)
}

// recordEvent keeps an event, but for those that come several times a second.
func (c *Client) recordEvent(e *Event) {
	if c.records != nil && e.Kind != "link_applied" {
		c.records.put(&call{}, &entry{event: e})
	}
}

// explained is the whole set of candidates as it is now.
func (c *Client) explained(call *call) *pb.Explanation {
	c.mu.Lock()
	x := c.router.Explain(c.clock.now(), call.workload, call.request.core(0))
	c.mu.Unlock()
	return wire.EncodeExplanation(&x, maxExplained)
}

// explains says whether an attempt that ended so is recorded with all candidates.
func (r *records) explains(now int64, kind OutcomeKind) bool {
	r.mu.Lock()
	sample := r.seen%sampleOne == 0
	r.seen++
	r.mu.Unlock()
	return (sample || kind != route.Served && kind != route.Cancelled) && r.due(now)
}

// due takes the turn of an explanation, if there is one.
func (r *records) due(now int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now < r.explainAt {
		return false
	}
	r.explainAt = now + explainEvery.Microseconds()
	return true
}

// put adds an entry, and drops the oldest when there is no room.
func (r *records) put(call *call, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if call.recorded == 0 && e.event == nil {
		r.calls++
		call.recorded = r.calls
	}
	e.call = call.recorded
	if r.count == len(r.ring) {
		r.makeRoom()
	}
	r.ring[(r.first+r.count)%len(r.ring)] = *e
	r.count++
}

// makeRoom grows the ring up to its bound. Then the oldest entry gives way.
func (r *records) makeRoom() {
	if len(r.ring) == maxRecords {
		r.first, r.count, r.lost = (r.first+1)%maxRecords, r.count-1, r.lost+1
		return
	}
	ring := make([]entry, max(2*len(r.ring), fewRecords))
	n := copy(ring, r.ring[r.first:])
	copy(ring[n:], r.ring[:r.first])
	r.ring, r.first = ring, 0
}

// take removes the oldest entry; what was lost before it comes first.
func (r *records) take() (e entry, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost > 0 {
		e.event = &Event{Kind: "dropped", Name: "records", At: time.Now(), Count: int(r.lost)}
		r.lost = 0
		return e, true
	}
	if r.count == 0 {
		return e, false
	}
	e, r.ring[r.first] = r.ring[r.first], entry{}
	r.first, r.count = (r.first+1)%len(r.ring), r.count-1
	return e, true
}

// batch takes as much as fits one message, or nil.
func (r *records) batch() *pb.Records {
	var m pb.Records
	for size := 0; ; {
		if r.left == nil {
			e, ok := r.take()
			if !ok {
				break
			}
			r.left = e.encode()
		}
		if size += proto.Size(r.left) + perRecord; size > maxBatch && len(m.Records) > 0 {
			break
		}
		m.Records, r.left = append(m.Records, r.left), nil
	}
	if len(m.Records) == 0 {
		return nil
	}
	return &m
}

const perRecord = 4 // bytes around one in its message

// sendRecords sends what is recorded at its pace, to a parent that keeps it.
func (c *Client) sendRecords(now int64) {
	r := c.records
	if r == nil || now < r.sent+recordsEvery.Microseconds() || !c.link.WantsRecords() {
		return
	}
	if m := r.batch(); m != nil {
		r.sent = now
		c.link.Records(m)
	}
}
