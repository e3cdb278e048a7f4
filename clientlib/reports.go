package clientlib

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// The pace of reports (protocol.md, rule 11).
const (
	reportEvery  = time.Second
	urgentWithin = 100 * time.Millisecond
	urgentMost   = 4                // a second
	spentEvery   = 10 * time.Second // what pauses on is told again, for a leader that is new
	tickAtMost   = 250 * time.Millisecond
	tickAtLeast  = 5 * time.Millisecond
)

// reports says what this leaf sees. All but granted belongs to the loop.
type reports struct {
	leaf, node, locality string
	incarnation          uint64
	grant                atomic.Uint64 // the last one applied

	sequence uint64
	sent     [urgentMost]int64  // when the last ones went, in a ring
	last     int64              // when the last interval ended
	voted    bool               // votes stood in the last one
	spent    []route.SpentQuota // as last told,
	spentAt  int64              // and when
}

func newReports(c Config, now int64) *reports {
	return &reports{
		leaf: fmt.Sprintf("%s-%016x", c.name(), rand.Uint64()), node: c.node(), locality: c.Locality,
		incarnation: uint64(time.Now().UnixMicro()), last: now,
	}
}

func (r *reports) granted(number uint64) {
	if number > r.grant.Load() { // grants come from one goroutine
		r.grant.Store(number)
	}
}

// urgentAt is when an urgent report may go: soon, and so many a second.
func (r *reports) urgentAt() int64 {
	oldest := r.sent[r.sequence%urgentMost]
	newest := r.sent[(r.sequence+urgentMost-1)%urgentMost]
	switch {
	case newest == 0: // none was sent
		return 0
	case oldest == 0:
		return newest + urgentWithin.Microseconds()
	}
	return max(newest+urgentWithin.Microseconds(), oldest+time.Second.Microseconds())
}

// next is the report of an interval that ends now, or nil: idle sends nothing. Votes
// are all that stand, so the last one to fall is news as well; so are quotas that pause.
func (r *reports) next(now int64, term uint64, core route.Report) *pb.Report {
	interval := now - r.last
	r.last = now
	idle := len(core.Rows)+len(core.Votes)+len(core.Probes)+len(core.Sheds) == 0 && !r.voted
	if idle && !r.pauses(now, core.Spent) {
		return nil
	}
	r.spent, r.spentAt = core.Spent, now
	r.voted = len(core.Votes) > 0
	r.sent[r.sequence%urgentMost] = now
	r.sequence++
	core.Leaf, core.Node, core.Locality = r.leaf, r.node, r.locality
	core.Incarnation, core.Sequence = r.incarnation, r.sequence
	core.At, core.Interval = now, interval
	core.Term, core.LastGrant = term, r.grant.Load()
	report := wire.EncodeReport(now, &core)
	wire.Bound(report, wire.MaxReport)
	return &pb.Report{Leaves: []*pb.LeafReport{report}}
}

// pauses tells whether what pauses is news.
func (r *reports) pauses(now int64, spent []route.SpentQuota) bool {
	return !slices.Equal(spent, r.spent) || len(spent) > 0 && now-r.spentAt >= spentEvery.Microseconds()
}

// refused counts a call that ended without an endpoint.
func (c *Client) refused(call *call, err error) {
	if err == nil {
		return
	}
	var shed *ShedError // allocates
	if !errors.As(err, &shed) {
		return
	}
	c.mu.Lock()
	c.router.Refused(call.workload, shed.Kind)
	c.mu.Unlock()
}

// loop ticks the core and reports until ctx ends.
func (c *Client) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.nudge:
		case <-timer.C:
		}
		timer.Reset(c.tick())
	}
}

// tick does what is due and says how long nothing will be.
func (c *Client) tick() time.Duration {
	at := c.clock.now()
	c.mu.Lock()
	next := c.router.Tick(at)
	urgent := c.router.Urgent()
	c.urged = urgent
	c.mu.Unlock()
	c.relay()
	c.http.tick(at)
	due := c.reports.last + reportEvery.Microseconds()
	if urgent {
		due = min(due, c.reports.urgentAt())
	}
	if due <= at {
		c.report()
		due = at + reportEvery.Microseconds()
	}
	c.sendRecords(at)
	idle := microseconds(min(next, due) - at)
	return min(max(idle, tickAtLeast), tickAtMost)
}

// relay tells what the core has to tell.
func (c *Client) relay() {
	c.mu.Lock()
	events := c.router.Events(nil)
	c.mu.Unlock()
	for _, e := range events {
		c.tell(c.clock.routed(e))
	}
}

// report hands one interval to the link, if there is any news. Without a parent it is
// only drained.
func (c *Client) report() {
	at := c.clock.now()
	var core route.Report
	for done := false; !done; { // calls get their turn between two parts
		c.mu.Lock()
		done = c.router.Drain(at, &core)
		c.urged = false
		c.mu.Unlock()
	}
	var term uint64
	if v := c.view.Load(); v != nil && v.snapshot.Fleet() != nil {
		term = v.snapshot.Fleet().Version.Term
	}
	up := c.reports.next(at, term, core)
	if up == nil || c.link == nil || !c.link.Status().Connected {
		return
	}
	c.link.Report(at, up)
}
