package main

import (
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
how often it would be drawn and its score (the lower one wins). It knows what the fleet knows; what one process has
learned by itself, or spent of quotas, caps and budgets, is not in it.`,
		Example:           `  pointsman explain support-chat -tenant acme -needs tools,json_schema -input 1200 -max-output 400`,
		Args:              takes(1, 1),
		ValidArgsFunction: e.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Namespace, request.Workload = e.namespace, args[0]
			answer, err := call(cmd.Context(), e, services.Explain, &request)
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) { printExplanation(w, args[0], answer) })
		},
	}
	cmd.Flags().StringVar(&request.Tenant, "tenant", "", "on whose behalf")
	cmd.Flags().StringSliceVar(&request.Needs, "needs", nil, "`capabilities` that the request needs")
	cmd.Flags().Int64Var(&request.InputTokens, "input", 0, "`tokens` of its prompt")
	cmd.Flags().Int64Var(&request.MaxOutputTokens, "max-output", 0, "`tokens` that it lets be generated")
	cmd.Flags().StringVar(&request.Api, "api", "", "what the caller speaks, such as openai.chat")
	return cmd
}

func printExplanation(w io.Writer, workload string, x *pb.ExplainResponse) {
	known := ""
	if x.FleetOnly {
		known = ", fleet only"
	}
	fmt.Fprintf(w, "workload %s, %s, revision %d, generation %d%s\n", workload, x.Strategy, x.Revision, x.Generation, known)
	rows := [][]string{{"ENDPOINT", "TIER", "GATE", "SHARE", "SCORE"}}
	for _, c := range x.Candidates {
		row := []string{c.Endpoint, c.Tier, c.Reason, "", ""}
		if c.Reason == "" {
			row[2], row[3], row[4] = "passes", fmt.Sprintf("%.1f %%", 100*c.Share), fmt.Sprintf("%.6g", c.Score)
		}
		rows = append(rows, row)
	}
	table(w, rows)
	if x.Shed != "" {
		fmt.Fprintf(w, "shed: %s\n", x.Shed)
	}
}
