package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newCatalogHistory(e *env) *cobra.Command {
	request := &pb.HistoryRequest{}
	cmd := &cobra.Command{
		Use:     "history",
		Short:   "List revisions, newest first",
		Example: "  pointsman catalog history -limit 20",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			request.Namespace = e.namespace
			answer, err := call(cmd.Context(), e, services.History, request)
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) { printHistory(w, answer) })
		},
	}
	cmd.Flags().Uint64Var(&request.Before, "before", 0, "only revisions below this one")
	cmd.Flags().Uint32Var(&request.Limit, "limit", 50, "so many at most")
	return cmd
}

func printHistory(w io.Writer, h *pb.HistoryResponse) {
	if len(h.Revisions) == 0 {
		fmt.Fprintln(w, "no revisions: publish one with `pointsman catalog publish DIR`")
		return
	}
	rows := [][]string{{"REVISION", "PUBLISHED", "AUTHOR", "TAGS", "STATE", "MESSAGE"}}
	for _, r := range h.Revisions {
		rows = append(rows, []string{
			number(r.Revision), moment(r.Time), r.Author,
			strings.Join(r.Tags, ", "), strings.Join(marks(h.Head, r), ", "), r.Message,
		})
	}
	table(w, rows)
}

// marks say what a revision is to the head.
func marks(head *pb.Head, r *pb.RevisionInfo) []string {
	var marks []string
	add := func(holds bool, mark string) {
		if holds {
			marks = append(marks, mark)
		}
	}
	add(head.GetServing() == r.Revision, fmt.Sprintf("served, generation %d", head.GetGeneration()))
	add(head.GetPublished() == r.Revision && head.GetServing() != r.Revision, "newest")
	add(head.GetPin() == r.Revision, "pinned")
	for _, pin := range head.GetPins() {
		add(pin.Revision == r.Revision, "pinned for "+pin.Workload)
	}
	add(r.ComposedOf != 0, fmt.Sprintf("%d with pins", r.ComposedOf))
	return marks
}
