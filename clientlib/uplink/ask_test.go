package uplink

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func (c *call) asks(t *testing.T, number uint64, leaf string) {
	t.Helper()
	c.say(t, &pb.SyncResponse{Message: &pb.SyncResponse_Question{Question: &pb.Question{Number: number, Leaf: leaf, Explain: &pb.ExplainRequest{Workload: "chat"}}}})
}

// A question is answered up the stream that it came down, by its number, once, and late if
// need be; what the handler does not answer holds nothing up.
func TestQuestionsAreAnsweredByTheirNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := made(t, 1)
		answers := map[uint64]func(*pb.Answer){}
		r.asked = func(q *pb.Question, answer func(*pb.Answer)) { answers[q.Number] = answer }
		r.run(t)
		c, _ := r.joined(t)
		c.asks(t, 7, "leaf")
		c.asks(t, 8, "leaf")
		c.asks(t, 9, "another")
		if got := c.next(t).GetAnswer(); got.GetNumber() != 9 || got.GetError() == "" {
			t.Errorf("of another leaf: %v", got)
		}
		c.applied(t, 1, catalog(5, "a"))
		time.Sleep(time.Second)
		answers[8](&pb.Answer{Number: 1000, Explain: &pb.ExplainResponse{Generation: 5}})
		answers[8](&pb.Answer{Error: "again"})
		want := &pb.Answer{Number: 8, Explain: &pb.ExplainResponse{Generation: 5}}
		if diff := cmp.Diff(want, c.next(t).GetAnswer(), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		c.quit <- errBad
		c, _ = r.joined(t)
		answers[7](&pb.Answer{Error: "too late"}) // its stream is over, and its number is another's here
		c.quiet(t, 5*time.Second)
	})
}

// A replica's want says that it wants the fleet's track alone.
func TestRule1AWantForTheFleetAloneSaysSo(t *testing.T) {
	w := Want{FleetOnly: true}
	w.All = true
	if m := w.subscribe(3); !m.FleetOnly || !m.All || m.View != 3 {
		t.Errorf("subscribes with %v", m)
	}
	if w.equal(Want{Selector: w.Selector}) {
		t.Error("with and without a catalog are the same")
	}
}

// Rule 9: what waits to be sent grows older, whoever reports it.
func TestRule9NodesGrowOlderAndPausesRunOn(t *testing.T) {
	out := newOutbox()
	out.report(100, &pb.Report{
		Leaves: []*pb.LeafReport{{Spent: []*pb.Spent{{RemainingUs: 50}, {RemainingUs: 10}}}},
		Nodes:  []*pb.NodeReport{{AgeUs: 5}},
	})
	got := out.take(130).GetReport()
	if q := got.Leaves[0].Spent; got.Nodes[0].AgeUs != 35 || q[0].RemainingUs != 20 || q[1].RemainingUs != 0 {
		t.Errorf("sent %v", got)
	}
}
