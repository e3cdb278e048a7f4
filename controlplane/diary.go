package controlplane

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// The kinds of events that are not a breaker's: fleet_service.proto.
const (
	eventLeader = "leader"
	eventAlarm  = "alarm"
)

const (
	maxDiary    = 4096                   // events that wait for etcd
	maxPage     = 512                    // of one write
	writeEvery  = time.Second            // control-plane.md, etcd layout
	lastWrite   = 200 * time.Millisecond // a graceful stop waits no longer
	writeWithin = 3 * time.Second
)

// diary takes what happened to the fleet to the store, at most once a second, and never
// when nothing did. Only a leader writes; what waits when it loses its term is the next
// one's of this replica, or lost.
type diary struct {
	log  hclog.Logger
	wake chan struct{}
	told told // for metrics

	mu      sync.Mutex
	waiting []*pb.FleetEvent
	lost    int
}

func newDiary(log hclog.Logger) *diary { return &diary{log: log, wake: make(chan struct{}, 1)} }

// put adds an event. When too many wait, the oldest goes.
func (d *diary) put(e *pb.FleetEvent, at time.Time) {
	e.Time = timestamppb.New(at)
	d.told.event(e.GetKind())
	d.mu.Lock()
	d.waiting = append(d.waiting, e)
	d.bound()
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *diary) bound() {
	if more := len(d.waiting) - maxDiary; more > 0 {
		d.waiting = d.waiting[more:]
		d.lost += more
	}
}

// run writes until ctx ends, and then once more. A write that is under way by then is given
// as long as the last: one that is given up may have happened all the same.
func (d *diary) run(ctx context.Context, t term) {
	for {
		select {
		case <-ctx.Done():
			d.write(ctx, t, lastWrite)
			return
		case <-d.wake:
		}
		d.write(ctx, t, writeWithin)
		select {
		case <-ctx.Done():
		case <-time.After(writeEvery):
		}
	}
}

// outlive is a context that ends within a time, and lastWrite after ctx at the latest.
func outlive(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	stop := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(lastWrite, cancel)
		context.AfterFunc(out, func() { late.Stop() })
	})
	return out, func() { stop(); cancel() }
}

// write writes a page of what waits, while the term holds. What etcd did not take waits on.
func (d *diary) write(ctx context.Context, t term, within time.Duration) {
	if !t.holds() {
		return
	}
	ctx, cancel := outlive(ctx, within)
	defer cancel()
	page, lost := d.page()
	if lost > 0 {
		d.log.Warn("events came faster than etcd took them", "lost", lost)
	}
	if len(page) == 0 {
		return
	}
	err := t.append(ctx, page)
	d.mu.Lock()
	if err != nil {
		d.waiting = append(page, d.waiting...)
		d.bound()
	}
	more := len(d.waiting) > 0
	d.mu.Unlock()
	if err != nil {
		d.log.Warn("events cannot be written: they wait", "events", len(page), "error", err)
	}
	if more {
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
}

func (d *diary) page() (page []*pb.FleetEvent, lost int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(d.waiting), maxPage)
	page = append(page, d.waiting[:n]...)
	d.waiting = d.waiting[n:]
	lost, d.lost = d.lost, 0
	return page, lost
}
