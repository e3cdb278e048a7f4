package wire

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestALargeReportMergesItsLeastBusyRows(t *testing.T) {
	r := &pb.LeafReport{Leaf: "l", Votes: []*pb.Vote{{Endpoint: "e-1"}}}
	var admitted uint64
	for i := range uint64(8000) {
		class := pb.Class(1 + i%4)
		row := &pb.Row{Endpoint: fmt.Sprintf("an-endpoint-%d", i), Identity: i, Class: class, Workload: "support-chat", Admitted: i, Invalid: i}
		if class == pb.Class_CLASS_ANY {
			admitted += i
		}
		r.Rows = append(r.Rows, row)
	}
	Bound(r, MaxReport)
	if n := proto.Size(r); n > MaxReport || n < MaxReport*9/10 {
		t.Errorf("%d bytes are left, of at most %d", n, MaxReport)
	}
	last := r.Rows[len(r.Rows)-1]
	if !r.Merged || last.Endpoint != Other || len(r.Votes) != 1 {
		t.Errorf("merged %v, the last row is of %q, %d votes", r.Merged, last.Endpoint, len(r.Votes))
	}
	for _, row := range r.Rows[:len(r.Rows)-1] {
		if row.Admitted < uint64(8001-len(r.Rows)) {
			t.Fatalf("a row of %d stays, although busier ones went", row.Admitted)
		}
		if row.Class == pb.Class_CLASS_ANY {
			admitted -= row.Admitted
		}
	}
	if last.Admitted != admitted || last.Invalid != admitted {
		t.Errorf("the merged row has %d admitted and %d invalid, want %d", last.Admitted, last.Invalid, admitted)
	}
}

func TestASmallReportStaysAsItIs(t *testing.T) {
	r := &pb.LeafReport{Leaf: "l", Rows: []*pb.Row{{Endpoint: "b"}, {Endpoint: "a", Admitted: 9}}}
	want := proto.CloneOf(r)
	Bound(r, MaxReport)
	if !proto.Equal(want, r) {
		t.Errorf("got %v, want %v", r, want)
	}
}

func TestAReportOfNothingButVotesIsLeftToItsReader(t *testing.T) {
	r := &pb.LeafReport{Leaf: "l", Votes: []*pb.Vote{{Endpoint: "e"}}}
	Bound(r, 1)
	if len(r.Votes) != 1 || len(r.Rows) > 0 || r.Merged {
		t.Errorf("%d votes, %d rows, merged %v: want it as it was", len(r.Votes), len(r.Rows), r.Merged)
	}
}
