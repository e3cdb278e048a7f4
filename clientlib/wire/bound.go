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

// Bound keeps a report within most bytes: the least busy rows become one, and it says so.
func Bound(r *pb.LeafReport, most int) {
	over := proto.Size(r) - most
	if over <= 0 || len(r.Rows) == 0 {
		return
	}
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

// maxOther is what the merged row can take, in bytes: a dozen numbers and two names.
const maxOther = 160

// fieldSize is what a row takes in its report.
func fieldSize(row *pb.Row) int { return 1 + protowire.SizeBytes(proto.Size(row)) }

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
}
