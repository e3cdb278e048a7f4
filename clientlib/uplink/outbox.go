package uplink

import (
	"sync"
	"sync/atomic"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Bounds of what waits to be sent. A parent that has not read so many messages is not
// coming back to them.
const (
	maxControl = 4096
	maxReports = 16
)

// outbox holds what goes up one stream: messages in order, then reports, then records. What
// a report says of a leaf replaces what one before it said, so they keep their order too.
type outbox struct {
	kick    chan struct{}               // holds one
	records *atomic.Pointer[pb.Records] // the link's; read when wanted
	wanted  atomic.Bool                 // the parent keeps records

	mu      sync.Mutex
	control []*pb.SyncRequest
	reports []waiting // oldest first
	full    bool      // a message did not fit: the stream is of no use any more
	last    bool      // nothing more comes
}

type waiting struct {
	report *pb.Report
	since  int64
}

func newOutbox() *outbox { return &outbox{kick: make(chan struct{}, 1)} }

func (o *outbox) put(m *pb.SyncRequest) {
	o.mu.Lock()
	if len(o.control) < maxControl {
		o.control = append(o.control, m)
	} else {
		o.full = true
	}
	o.mu.Unlock()
	o.wake()
}

func (o *outbox) overflowed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full
}

func (o *outbox) report(now int64, r *pb.Report) {
	o.mu.Lock()
	if len(o.reports) == maxReports {
		o.makeRoom()
	}
	o.reports = append(o.reports, waiting{r, now})
	o.mu.Unlock()
	o.wake()
}

// makeRoom drops the oldest report: its intervals are a gap. What leaves run is told once
// and goes with the next.
func (o *outbox) makeRoom() {
	oldest, next := o.reports[0], o.reports[1]
	older(oldest.report, next.since-oldest.since)
	next.report.States = append(oldest.report.States, next.report.States...)
	o.reports = o.reports[1:]
}

// finish says that what waits is the last.
func (o *outbox) finish() {
	o.mu.Lock()
	o.last = true
	o.mu.Unlock()
	o.wake()
}

func (o *outbox) finished() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last && len(o.control) == 0 && len(o.reports) == 0 && (!o.wanted.Load() || o.records.Load() == nil)
}

func (o *outbox) wake() {
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

// take gives what is to be sent now; nil: nothing.
func (o *outbox) take(now int64) *pb.SyncRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.control) > 0 {
		m := o.control[0]
		o.control = o.control[1:]
		return m
	}
	if len(o.reports) == 0 {
		return o.recorded()
	}
	w := o.reports[0]
	o.reports = o.reports[1:]
	older(w.report, now-w.since)
	return &pb.SyncRequest{Message: &pb.SyncRequest_Report{Report: w.report}}
}

// recorded are the records that wait, if the parent wants them.
func (o *outbox) recorded() *pb.SyncRequest {
	if !o.wanted.Load() {
		return nil
	}
	records := o.records.Swap(nil)
	if records == nil {
		return nil
	}
	return &pb.SyncRequest{Message: &pb.SyncRequest_Records{Records: records}}
}

// older adds the time that a report has waited here to its ages (rule 9).
func older(r *pb.Report, by int64) {
	for _, leaf := range r.Leaves {
		leaf.AgeUs += by
		for _, q := range leaf.Spent {
			q.RemainingUs = max(0, q.RemainingUs-by)
		}
	}
	for _, state := range r.States {
		state.AgeUs += by
	}
	for _, node := range r.Nodes {
		node.AgeUs += by
	}
}
