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

// Standing trips alone can be more than a report may be, when much is down.
func TestVotesAreBoundedTooTheHardFirstAndTheSameEachTime(t *testing.T) {
	made := func(from int) *pb.LeafReport {
		r := &pb.LeafReport{Leaf: "l", Rows: []*pb.Row{{Endpoint: "e", Class: pb.Class_CLASS_ANY, Admitted: 1}}}
		const n = 9000
		for i := range n {
			at := (i + from) % n
			r.Votes = append(r.Votes, &pb.Vote{Endpoint: fmt.Sprintf("endpoint-%05d", at), Soft: at%3 == 0, Reason: "connection refused by its peer"})
			r.Sheds = append(r.Sheds, &pb.Shed{Workload: fmt.Sprint("workload", at), Reason: "open", Count: 1})
		}
		Bound(r, MaxReport)
		return r
	}
	a, b := made(0), made(4321)
	if size := proto.Size(a); size > MaxReport || size < MaxReport*9/10 {
		t.Errorf("%d bytes, want at most %d and not much less", size, MaxReport)
	}
	if !a.Merged || len(a.Sheds) != 0 || len(a.Votes) < 3000 {
		t.Errorf("merged %v, %d sheds, %d votes", a.Merged, len(a.Sheds), len(a.Votes))
	}
	for i, v := range a.Votes {
		if v.Soft {
			t.Fatalf("vote %d is soft, and hard ones were cut", i)
		}
		if v.Endpoint != b.Votes[i].Endpoint {
			t.Fatalf("vote %d is for %q, and then for %q", i, v.Endpoint, b.Votes[i].Endpoint)
		}
	}
}
