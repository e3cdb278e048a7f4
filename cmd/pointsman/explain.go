package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newExplain(e *env) *cobra.Command {
	var request pb.ExplainRequest
	cmd := &cobra.Command{
		Use:   "explain WORKLOAD",
		Short: "Show where a request would go, and why not elsewhere",
		Long: `Runs the decision core over what is served now and shows every candidate of a request: the gate that refuses it, or
how often it would be drawn, its score (the lower one wins), and how old the fleet's word and the latest latency are.

Without -client it knows what the fleet knows: what one process has learned by itself, or spent of quotas, caps and budgets, is
not in it. With -client it is that library's own answer.`,
		Example: `  pointsman explain support-chat -tenant acme -needs tools,json_schema -input 1200 -max-output 400
  pointsman explain support-chat -client chat-7f9c`,
		Args:              takes(1, 1),
		ValidArgsFunction: e.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Namespace, request.Workload = e.namespace, args[0]
			answer, err := call(cmd.Context(), e, services.Explain, &request)
			if f, ok := errors.AsType[*failure](err); ok && request.Client != "" && f.code == exitFailed && !f.away {
				f.next = "`pointsman client list` shows the leaves that are connected"
			}
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) { printExplanation(w, &request, answer) })
		},
	}
	cmd.Flags().StringVar(&request.Tenant, "tenant", "", "on whose behalf")
	cmd.Flags().StringSliceVar(&request.Needs, "needs", nil, "`capabilities` that the request needs")
	cmd.Flags().Int64Var(&request.InputTokens, "input", 0, "`tokens` of its prompt")
	cmd.Flags().Int64Var(&request.MaxOutputTokens, "max-output", 0, "`tokens` that it lets be generated")
	cmd.Flags().StringVar(&request.Api, "api", "", "what the caller speaks, such as openai.chat")
	cmd.Flags().StringVar(&request.Client, "client", "", "the `leaf` to ask, as client list shows it")
	e.completeFlag(cmd, "client", e.completeLeaves)
	return cmd
}

func printExplanation(w io.Writer, q *pb.ExplainRequest, x *pb.ExplainResponse) {
	known := "as leaf " + q.Client + " sees it"
	if x.FleetOnly {
		known = "fleet only"
	}
	fmt.Fprintf(w, "workload %s, %s, revision %d, generation %d, %s\n", q.Workload, x.Strategy, x.Revision, x.Generation, oneLine(known))
	rows := [][]string{{"ENDPOINT", "TIER", "GATE", "SHARE", "SCORE", "FLEET AGE", "LATENCY AGE", "SAMPLES"}}
	for _, c := range x.Candidates {
		row := []string{c.Endpoint, c.Tier, c.Reason, "", "", old(c.RowAgeUs), old(c.SampleAgeUs), number(c.Samples)}
		if c.Reason == "" {
			row[2], row[3], row[4] = "passes", fmt.Sprintf("%.1f %%", 100*c.Share), fmt.Sprintf("%.6g", c.Score)
		}
		rows = append(rows, row)
	}
	table(w, rows)
	if x.Shed != "" {
		fmt.Fprintf(w, "shed: %s\n", oneLine(x.Shed))
	}
}

// old is an age, and nothing where there is none.
func old(us int64) string {
	if us < 0 {
		return ""
	}
	return span(us)
}
