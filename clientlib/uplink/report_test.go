package uplink

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func plain() grpc.DialOption { return grpc.WithTransportCredentials(insecure.NewCredentials()) }

func interval(sequence uint64) *pb.Report {
	return &pb.Report{
		Leaves: []*pb.LeafReport{{Leaf: "leaf", Sequence: sequence, AgeUs: 5}},
		States: []*pb.LeafState{{Leaf: "leaf", AgeUs: 7}},
	}
}

func TestReportsGoUpInOrderOfMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		for i := range uint64(3) {
			r.link.Report(r.now(), interval(i+1))
			m := c.next(t)
			if got := m.GetReport().Leaves[0]; got.Sequence != i+1 || m.Sequence != i+2 || got.AgeUs != 5 {
				t.Errorf("message %d is report %v", m.Sequence, got)
			}
		}
	})
}

// Reports keep their order, as a later one replaces what an earlier one said; the oldest
// are lost when too many wait; messages go before reports.
func TestReportsWaitInOrderAndBounded(t *testing.T) {
	out := newOutbox()
	for i := range uint64(maxReports + 4) {
		out.report(100, interval(i))
	}
	out.put(ack(nil, nil))
	if m := out.take(100); m.GetAck() == nil {
		t.Errorf("first %v, want the ack", m)
	}
	var got []uint64
	for m := out.take(130); m != nil; m = out.take(130) {
		leaf := m.GetReport().Leaves[0]
		got = append(got, leaf.Sequence)
		if leaf.AgeUs != 35 || m.GetReport().States[0].AgeUs != 37 { // rule 9: 30 µs more
			t.Errorf("report %d is %d µs old", leaf.Sequence, leaf.AgeUs)
		}
	}
	var want []uint64
	for i := range uint64(maxReports) {
		want = append(want, i+4)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What leaves run is told once: a parent that was stopped for a while hears of it all the same.
func TestWhatLeavesRunIsNotLostWithTheOldestReports(t *testing.T) {
	out := newOutbox()
	for i := range uint64(maxReports + 4) {
		out.report(int64(i), &pb.Report{States: []*pb.LeafState{{Incarnation: i, AgeUs: 5}}})
	}
	var got []uint64
	for m := out.take(100); m != nil; m = out.take(100) {
		for _, s := range m.GetReport().States {
			got = append(got, s.Incarnation)
			if want := 105 - int64(s.Incarnation); s.AgeUs != want {
				t.Errorf("state %d is %d µs old, want %d", s.Incarnation, s.AgeUs, want)
			}
		}
	}
	if len(got) != maxReports+4 || !slices.IsSorted(got) {
		t.Errorf("told of %v", got)
	}
}

// Reports are lost with the parent: a gap, never counted twice.
func TestReportsAreLostWithTheParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := made(t, 1)
		r.link.Report(r.now(), interval(1)) // before there is any
		r.run(t)
		c, _ := r.joined(t)
		c.quit <- errBad
		time.Sleep(100 * time.Millisecond)
		r.link.Report(r.now(), interval(2))
		c, _ = r.joined(t)
		c.quiet(t, 5*time.Second)
	})
}

// The last reports are the ones that tell how it ended.
func TestAnEndSendsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		c.heartbeat(t)
		c.next(t) // its ack
		for i := range uint64(maxReports) {
			r.link.Report(r.now(), interval(i+1))
		}
		began := time.Now()
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited > farewell {
			t.Errorf("it took %v", waited)
		}
		for i := range uint64(maxReports) {
			if got := c.next(t).GetReport().GetLeaves()[0].Sequence; got != i+1 {
				t.Errorf("report %d, want %d", got, i+1)
			}
		}
	})
}

func TestAnEndWaitsForNoParentThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := made(t, 1)
		r.parents[0].deaf = true
		r.run(t)
		c := r.joins(t, 0)
		c.sayAsIs(t, &pb.SyncResponse{Message: &pb.SyncResponse_Heartbeat{Heartbeat: &pb.Heartbeat{}}})
		for range maxReports {
			r.link.Report(r.now(), &pb.Report{Leaves: []*pb.LeafReport{{Leaf: strings.Repeat("x", 1<<20)}}})
		}
		began := time.Now()
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != farewell {
			t.Errorf("it took %v", waited)
		}
	})
}

// A grant counts only from the newest leader known, and only for whom this link speaks.
func TestGrantsComeFromTheNewestTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		grant := func(number, term uint64, leaf string) {
			t.Helper()
			g := &pb.Grant{Number: number, Term: term, Leaf: leaf}
			c.say(t, &pb.SyncResponse{Message: &pb.SyncResponse_Grant{Grant: g}})
		}
		grant(1, 5, "leaf")
		grant(2, 5, "another")
		c.applied(t, 1, fleet(7, 1, 0, "e"))
		grant(3, 6, "leaf")
		grant(4, 7, "leaf")
		grant(5, 9, "leaf") // its fleet track is still on its way
		grant(6, 8, "leaf")
		var got []uint64
		for _, g := range r.grants {
			got = append(got, g.number)
		}
		if diff := cmp.Diff([]uint64{1, 4, 5}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// After a store was restored, terms begin low again: the epoch says so.
func TestANewEpochBeginsItsTermsAnew(t *testing.T) {
	old := term{epoch: 1, term: 900}
	if got := old.newest(&pb.Version{Epoch: 2, Term: 5}); got != (term{2, 5}) {
		t.Errorf("term %v", got)
	}
	if got := old.newest(&pb.Version{Epoch: 1, Term: 899}); got != old {
		t.Errorf("term %v", got)
	}
}

// Records never delay a report, wait for a parent that keeps them, and outlive a stream.
func TestRecordsGoLastAndOnlyToWhoKeepsThem(t *testing.T) {
	records := &pb.Records{Records: []*pb.Record{{TimeUs: 1}}}
	out := newOutbox()
	out.records = new(atomic.Pointer[pb.Records])
	out.records.Store(records)
	if m := out.take(0); m != nil {
		t.Errorf("a parent that keeps none is sent %v", m)
	}
	out.wanted.Store(true)
	out.report(0, interval(1))
	if m := out.take(0); m.GetReport() == nil {
		t.Errorf("first %v, want the report", m)
	}
	if m := out.take(0); m.GetRecords() != records || out.take(0) != nil {
		t.Errorf("then %v, want the records, once", m)
	}
}

func TestRecordsThatWaitGoToTheNextParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1)
		c, _ := r.joined(t)
		keeps := func(keeps bool) {
			c.say(t, &pb.SyncResponse{Message: &pb.SyncResponse_Heartbeat{Heartbeat: &pb.Heartbeat{KeepsRecords: keeps}}})
			c.next(t) // its ack
		}
		keeps(true)
		if !r.link.WantsRecords() {
			t.Error("the parent keeps records, and none are wanted")
		}
		keeps(false)
		if r.link.WantsRecords() {
			t.Error("the parent keeps none, and they are wanted")
		}
		r.link.Records(&pb.Records{Records: []*pb.Record{{TimeUs: 1}}})
		c.quit <- errBad
		c, _ = r.joined(t)
		keeps(true)
		if got := c.next(t).GetRecords().GetRecords(); len(got) != 1 || !r.link.WantsRecords() {
			t.Errorf("the next parent got %v", got)
		}
	})
}
