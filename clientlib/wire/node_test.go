package wire

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestANodeReportRoundTripsAndUnknownIsNotZero(t *testing.T) {
	r := route.NodeReport{
		Node: "n", Locality: "eu/west", Incarnation: 3, Sequence: 9, At: 1_000,
		Engines: []route.EngineLoad{
			{Endpoint: "own@a:1", Identity: 5, Running: 3, Waiting: 0, KVUsed: 0.5, PromptTPS: route.Absent, OutputTPS: 120.5},
			{Endpoint: "own@b:1", Identity: 6, Running: route.Absent, Waiting: route.Absent, KVUsed: route.Absent, PromptTPS: route.Absent, OutputTPS: route.Absent},
		},
		Reaches: []route.Reach{{Endpoint: "own@a:1", Identity: 5, Reached: true, Connect: 700}, {Endpoint: "own@b:1", Identity: 6, Reason: "refused"}},
	}
	m := EncodeNodeReport(5_000, &r)
	if m.AgeUs != 4_000 || m.Engines[0].Waiting == nil || m.Engines[0].PromptTps != nil {
		t.Errorf("encoded: %v", m)
	}
	got, err := NodeReport(5_000, m)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, got); diff != "" {
		t.Error(diff)
	}
}

func TestANumberThatCannotBeIsNotKnown(t *testing.T) {
	for _, v := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
		r, err := NodeReport(5, &pb.NodeReport{Node: "n", Engines: []*pb.EngineLoad{{Running: proto.Float64(v), KvUsed: proto.Float64(v)}}})
		if err != nil || r.Engines[0].Running != route.Absent || r.Engines[0].KVUsed != route.Absent {
			t.Errorf("%g: %v, %v", v, r.Engines, err)
		}
	}
	r, err := NodeReport(5, &pb.NodeReport{Node: "n", AgeUs: -7, Engines: []*pb.EngineLoad{{KvUsed: proto.Float64(1.5)}}, Reaches: []*pb.Reach{{ConnectUs: -3}}})
	if err != nil || r.Engines[0].KVUsed != route.Absent || r.At > 5 || r.Reaches[0].Connect != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := NodeReport(5, &pb.NodeReport{}); err == nil {
		t.Error("a report of nobody")
	}
}
