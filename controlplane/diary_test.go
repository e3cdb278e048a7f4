package controlplane

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// written keeps what a diary wrote, and when.
type written struct {
	at     []time.Time
	events []*pb.FleetEvent
	fails  int // so many writes more
}

func (w *written) term() term {
	t := standing(1)
	t.append = func(_ context.Context, events []*pb.FleetEvent) error {
		w.at = append(w.at, time.Now())
		if w.fails > 0 {
			w.fails--
			return errors.New("etcd is away")
		}
		w.events = append(w.events, events...)
		return nil
	}
	return t
}

func TestEventsAreWrittenOnceASecondAtMostAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, w := newDiary(hclog.NewNullLogger()), &written{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); d.run(ctx, w.term()) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(w.at) != 0 {
			t.Fatalf("%d writes of nothing", len(w.at))
		}
		w.fails = 2
		for i := range 1000 {
			d.put(&pb.FleetEvent{Evidence: fmt.Sprint(i)}, time.Now())
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		cancel()
		<-ended
		if len(w.events) != 1000 {
			t.Fatalf("%d of 1000 events were written", len(w.events))
		}
		for i, e := range w.events {
			if e.GetEvidence() != fmt.Sprint(i) {
				t.Fatalf("event %s in the place of %d", e.GetEvidence(), i)
			}
		}
		for i := range w.at[1:] {
			if gap := w.at[i+1].Sub(w.at[i]); gap < time.Second {
				t.Errorf("two writes within %v", gap)
			}
		}
	})
}

func TestWhatEtcdDoesNotTakeIsBoundedAndTheOldestGoes(t *testing.T) {
	d := newDiary(hclog.NewNullLogger())
	for i := range maxDiary + 10 {
		d.put(&pb.FleetEvent{Evidence: fmt.Sprint(i)}, time.Now())
	}
	page, lost := d.page()
	if lost != 10 || page[0].GetEvidence() != "10" || len(page) != maxPage {
		t.Errorf("%d lost, the first of %d is %s", lost, len(page), page[0].GetEvidence())
	}
}

func TestALeaderThatLostItsTermWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, w := newDiary(hclog.NewNullLogger()), &written{}
		lost := w.term()
		lost.holds = func() bool { return false }
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d.put(&pb.FleetEvent{}, time.Now())
		d.run(ctx, lost)
		if len(w.at) != 0 {
			t.Error("it wrote")
		}
	})
}
