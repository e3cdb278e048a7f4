package wire_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// over is a decision after it went over the wire.
func over(t *testing.T, d *route.Record) route.Record {
	t.Helper()
	b, err := proto.Marshal(wire.EncodeDecision(d))
	if err != nil {
		t.Fatal(err)
	}
	var m pb.Decision
	if err := proto.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return wire.Decision(&m)
}

func TestADecisionIsTheSameBeyondTheWire(t *testing.T) {
	full := route.Record{
		Revision: 3, Generation: 4, Seed: math.MaxUint32, Tie: 1 << 31, Refused: 1<<route.ReasonDrained | 1<<route.ReasonBudget, Refusals: 200,
		Attempt: 0, Drawn: 2, Chosen: 1, Liking: route.Liking{Factor: 0.3, Top: 1.7}, Bias: 0.9,
		Known: [2]route.Known{{RowAge: 1, SampleAge: 2, Samples: 3}},
		Candidates: [2]route.Drawn{
			{Endpoint: "a", Inputs: route.Inputs{Load: 0.1 + 0.2, Time: 1e9, Price: 1. / 3, Share: 0.7, Tokens: 5, Rate: 6, Temper: 0.8, Health: 1.1}},
			{Endpoint: "b", Inputs: route.Inputs{Load: math.MaxFloat64, Time: math.SmallestNonzeroFloat64}},
		},
	}
	n := 0
	for s := route.P2C; s.String() != "unknown"; s++ {
		for w := route.WayNone; w.String() != "unknown"; w++ {
			d := full
			d.Strategy, d.StrategyVersion, d.Way = s, s.Version(), w
			if diff := cmp.Diff(d, over(t, &d)); diff != "" {
				t.Errorf("%v, %v: %s", s, w, diff)
			}
			then, err := route.Replay(&d)
			got := over(t, &d)
			if now, again := route.Replay(&got); now != then || err != nil || again != nil {
				t.Errorf("%v, %v: %q, %v, and before %q, %v", s, w, now, again, then, err)
			}
			n++
		}
	}
	if n != 55 {
		t.Errorf("%d ways to decide", n)
	}
}

func TestADecisionOfALaterVersionIsNotReplayed(t *testing.T) {
	for name, m := range map[string]*pb.Decision{
		"nothing":            nil,
		"a strategy":         {Strategy: "clairvoyant", Version: 1},
		"a version":          {Strategy: "p2c", Version: 1<<8 + 1},
		"more than it draws": {Strategy: "p2c", Version: 2, Chosen: 1 << 20, Drawn: make([]*pb.Considered, 9), Refused: []string{"whim"}},
	} {
		d := wire.Decision(m)
		if got, err := route.Replay(&d); err == nil {
			t.Errorf("%s: replayed as %q", name, got)
		}
	}
}

func TestAnExplanationIsBounded(t *testing.T) {
	var x route.Explanation
	for _, name := range []string{"a", "b", "c"} {
		x.Candidates = append(x.Candidates, route.Candidate{
			Endpoint: name, Tier: "t", Inputs: route.Inputs{Load: 2}, Score: 5, Evidence: route.Evidence{RowAge: 1, SampleAge: route.Absent, Samples: 4},
		})
	}
	x.Candidates[1].Reason = route.ReasonDrained
	m := wire.EncodeExplanation(&x, 2)
	if len(m.Candidates) != 2 || m.Omitted != 1 {
		t.Fatalf("%v", m)
	}
	want := &pb.Considered{Endpoint: "b", Tier: "t", Reason: "drained", Load: 2, Score: 5, RowAgeMs: 1, Samples: 4}
	if m.Candidates[0].Reason != "" || !proto.Equal(m.Candidates[1], want) {
		t.Errorf("%v", m)
	}
}
