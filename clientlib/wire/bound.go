package wire

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// MaxReport bounds a report, in bytes (protocol.md, Report).
const MaxReport = 256 << 10

// Other is the name of the row that the least busy ones are merged into. No endpoint has it.
const Other = "(other)"

// Bound keeps a report within most bytes: the least busy rows become one, then what is said
// beside them is cut, and it says so. What is cut of the votes are the soft ones first, and
// always the same: a vote that comes and goes would be taken back each time.
func Bound(r *pb.LeafReport, most int) {
	if over := proto.Size(r) - most; over > 0 && len(r.Rows) > 0 {
		merged(r, over)
	}
	if over := proto.Size(r) - most; over > 0 {
		cropped(r, over)
	}
}

func merged(r *pb.LeafReport, over int) {
	slices.SortStableFunc(r.Rows, func(a, b *pb.Row) int { return cmp.Compare(busy(b), busy(a)) })
	other := &pb.Row{Endpoint: Other, Class: pb.Class_CLASS_ANY}
	keep := len(r.Rows)
	for ; keep > 0 && over > -maxOther; keep-- {
		over -= fieldSize(r.Rows[keep-1])
	}
	for _, row := range r.Rows[keep:] {
		merge(other, row)
	}
	r.Rows = append(r.Rows[:keep:keep], other)
	r.Merged = true
}

func cropped(r *pb.LeafReport, over int) {
	r.Merged = true
	over += 2 // for that word
	slices.SortStableFunc(r.Sheds, func(a, b *pb.Shed) int { return cmp.Compare(b.GetCount(), a.GetCount()) })
	slices.SortStableFunc(r.Votes, func(a, b *pb.Vote) int {
		return cmp.Or(cmp.Compare(soft(a), soft(b)), cmp.Compare(a.GetEndpoint(), b.GetEndpoint()))
	})
	r.Sheds, over = crop(r.Sheds, over)
	r.Spent, over = crop(r.Spent, over)
	r.Votes, over = crop(r.Votes, over)
	r.Probes, _ = crop(r.Probes, over)
}

// crop cuts what comes last, until nothing is over.
func crop[M proto.Message](all []M, over int) ([]M, int) {
	keep := len(all)
	for ; keep > 0 && over > 0; keep-- {
		over -= fieldSize(all[keep-1])
	}
	return all[:keep], over
}

func soft(v *pb.Vote) int {
	if v.GetSoft() {
		return 1
	}
	return 0
}

// maxOther is what the merged row can take, in bytes: 16 numbers and two names.
const maxOther = 216

// fieldSize is what a row, or another part, takes in its report.
func fieldSize(m proto.Message) int { return 1 + protowire.SizeBytes(proto.Size(m)) }

func busy(r *pb.Row) uint64 {
	return r.Admitted + r.AdmitFailed + r.Finished + r.FinishFailed + r.Limited + r.Excluded + r.Invalid + r.InFlight
}

// merge adds what can be added over classes and workloads. Only rows of class any count
// an attempt once.
func merge(into, row *pb.Row) {
	if row.Class != pb.Class_CLASS_ANY {
		return
	}
	into.Admitted += row.Admitted
	into.AdmitFailed += row.AdmitFailed
	into.Finished += row.Finished
	into.FinishFailed += row.FinishFailed
	into.Slow += row.Slow
	into.Limited += row.Limited
	into.Excluded += row.Excluded
	into.Invalid += row.Invalid
	into.InFlight += row.InFlight
	into.PendingPromptTokens += row.PendingPromptTokens
	into.OutstandingTokens += row.OutstandingTokens
	into.CostNanoUsd += row.CostNanoUsd
	into.WorkUs += row.WorkUs
	into.BusyUs += row.BusyUs
	into.WaitedUs += row.WaitedUs
	into.ExplainedUs += row.ExplainedUs
}
