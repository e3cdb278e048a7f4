package hub

import (
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	urgentPause = int64(25 * time.Millisecond / time.Microsecond)  // for others' evidence of the same trouble; within 100 ms: rule 11
	urgentGap   = int64(250 * time.Millisecond / time.Microsecond) // at most 4 a second: rule 11
	routineGap  = int64(time.Second / time.Microsecond)            // and leaves ÷ 1,000 s: rule 11
	maxOutbox   = 8 << 20                                          // bytes of reports that wait
	maxBatch    = 1 << 20                                          // bytes of one message up
	never       = int64(math.MaxInt64)
)

// waitingReport is what one leaf says, or one node.
type waitingReport struct {
	leaf *pb.LeafReport
	node *pb.NodeReport
	at   int64 // what its ages are as of
	size int
}

// outbox holds reports until they go up.
type outbox struct {
	waiting []waitingReport
	bytes   int
	urgent  int64 // since when something urgent waits; 0: nothing does
	routine int64 // since when anything waits; 0: nothing does
	last    int64 // when the last went up
	hurried int64 // when the last urgent one did
	lost    int   // of those that waited, since then
}

// add takes a report whose ages are as of at.
func (o *outbox) add(now, at int64, r *pb.LeafReport) {
	o.put(waitingReport{leaf: r, at: at, size: proto.Size(r)})
	o.touch(now, urgent(r))
}

// see takes what a node saw, its ages as of at.
func (o *outbox) see(now, at int64, n *pb.NodeReport) {
	o.put(waitingReport{node: n, at: at, size: proto.Size(n)})
	o.touch(now, false)
}

// put keeps a report; the oldest make room: a gap, never a zero.
func (o *outbox) put(w waitingReport) {
	o.waiting = append(o.waiting, w)
	o.bytes += w.size
	for o.bytes > maxOutbox && len(o.waiting) > 1 {
		o.bytes -= o.waiting[0].size
		o.waiting = o.waiting[1:]
		o.lost++
	}
}

// touch says that something waits.
func (o *outbox) touch(now int64, urgent bool) {
	if o.routine == 0 {
		o.routine = now
	}
	if urgent && o.urgent == 0 {
		o.urgent = now
	}
}

// urgent says whether a report has failures, votes or probes.
func urgent(r *pb.LeafReport) bool {
	if len(r.Votes)+len(r.Probes) > 0 {
		return true
	}
	for _, row := range r.Rows {
		if row.AdmitFailed+row.FinishFailed > 0 {
			return true
		}
	}
	return false
}

// due is when what waits is to go up.
func (o *outbox) due(leaves int) int64 {
	switch {
	case o.routine == 0:
		return never
	case o.urgent != 0:
		return max(o.urgent+urgentPause, o.hurried+urgentGap)
	}
	return max(o.routine, o.last+max(routineGap, int64(leaves)*routineGap/1000))
}

// drain takes what waits, with its ages as of now, in order.
func (o *outbox) drain(now int64) []waitingReport {
	out := o.waiting
	for _, w := range out {
		w.older(max(0, now-w.at))
	}
	hurried := o.hurried
	if o.urgent != 0 {
		hurried = now
	}
	*o = outbox{last: now, hurried: hurried}
	return out
}

// older adds the time that a report has waited here (rule 9).
func (w waitingReport) older(by int64) {
	if w.node != nil {
		w.node.AgeUs += by
		return
	}
	w.leaf.AgeUs += by
	for _, q := range w.leaf.Spent {
		q.RemainingUs = max(0, q.RemainingUs-by)
	}
}

// batches puts states and reports into messages of bounded size, states first.
func batches(states []*pb.LeafState, reports []waitingReport) []*pb.Report {
	var out []*pb.Report
	room := 0
	last := func(size int) *pb.Report {
		size += 8
		if room < size {
			out = append(out, &pb.Report{})
			room = maxBatch
		}
		room -= size
		return out[len(out)-1]
	}
	for _, s := range states {
		b := last(proto.Size(s))
		b.States = append(b.States, s)
	}
	for _, r := range reports {
		b := last(r.size + 16) // its ages may have grown
		if r.node != nil {
			b.Nodes = append(b.Nodes, r.node)
			continue
		}
		b.Leaves = append(b.Leaves, r.leaf)
	}
	return out
}
