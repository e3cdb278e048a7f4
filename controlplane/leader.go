package controlplane

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	campaignAgain = time.Second // after etcd took no campaign
	tendEvery     = time.Minute
)

// term is one time of leading, and what may be done in its name only.
type term struct {
	number uint64
	holds  func() bool                                   // now, by this process's own clock
	append func(context.Context, []*pb.FleetEvent) error // fenced
	tend   func(context.Context, store.Keep) error       // fenced
}

// elections are etcd's. Both calls return when ctx ends.
type elections interface {
	campaign(ctx context.Context, lead func(context.Context, term)) error
	follow(ctx context.Context, changed func(*store.Leader)) error
}

// leadership is this replica's part in who leads: while it does, its judge judges for all.
type leadership struct {
	elections elections
	self      store.Candidate
	judge     *judge
	origin    *origin
	events    *diary
	runs      func() []uint64       // revisions that leaves run
	resolve   func(context.Context) // finds the instances of endpoints; nil: nobody does
	turned    func()                // hears that it began or ended
	log       hclog.Logger

	leads atomic.Bool
}

// campaign leads whenever it is elected, until ctx ends. Then it resigns.
func (l *leadership) campaign(ctx context.Context) {
	for ctx.Err() == nil {
		if err := l.elections.campaign(ctx, l.lead); err != nil && ctx.Err() == nil {
			l.log.Warn("no part in the election: trying again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(campaignAgain):
		}
	}
}

// lead judges until the term is lost, and waits for all it started.
func (l *leadership) lead(ctx context.Context, t term) {
	ctx, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer cancel()
	l.log.Info("this replica leads", "term", t.number)
	l.judge.forget()
	l.turn(true)
	defer l.turn(false)
	l.events.put(&pb.FleetEvent{Kind: eventLeader, Name: l.self.Replica, Evidence: l.origin.overlay()}, time.Now())
	parts.Go(func() { l.events.run(ctx, t) })
	parts.Go(func() { l.tend(ctx, t) })
	if l.resolve != nil {
		parts.Go(func() { l.resolve(ctx) })
	}
	l.judge.run(ctx, t)
	l.log.Info("this replica does not lead any more", "term", t.number)
}

func (l *leadership) turn(leads bool) {
	l.leads.Store(leads)
	l.origin.change(func() { l.origin.live.Leads = leads })
	l.turned()
}

// tend keeps house, each minute.
func (l *leadership) tend(ctx context.Context, t term) {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if err := t.tend(ctx, store.Keep{Now: now, Running: l.runs()}); err != nil && ctx.Err() == nil {
				l.log.Warn("tend the store", "error", err)
			}
		}
	}
}
