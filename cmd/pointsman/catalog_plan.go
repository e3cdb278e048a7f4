package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newCatalogPlan(e *env) *cobra.Command {
	var f folder
	var out string
	cmd := &cobra.Command{
		Use:   "plan [DIR] [-out PLAN]",
		Short: "Show what publishing a catalog would change",
		Long: `Sends a folder of *.hcl files to the control plane, which validates it and compares it with the newest published
revision: + comes, ~ changes, - goes, by effective values. Nothing is stored there. -out keeps the plan in a file, so
that exactly this is published, and only if nobody published in between.`,
		Example: `  pointsman catalog plan deploy/examples/catalog -out plan.json
  pointsman catalog publish plan.json -m "raise the limit of gpu-b"`,
		Args:              takes(0, 1),
		ValidArgsFunction: completeDirs,
		RunE: func(cmd *cobra.Command, args []string) error {
			sources, plan, err := f.plan(cmd.Context(), e, dirArg(args))
			if err != nil {
				return err
			}
			if out != "" {
				if err := e.writePlan(cmd.Context(), out, sources, plan); err != nil {
					return err
				}
			}
			return e.print(plan, func(w io.Writer) {
				printPlan(w, plan)
				if out != "" {
					fmt.Fprintf(w, "to publish it: pointsman catalog publish %s\n", out)
				}
			})
		},
	}
	f.flags(cmd.Flags())
	cmd.Flags().StringVar(&out, "out", "", "`file` to keep the plan in")
	return cmd
}

// plan asks what publishing a folder would change, and prints the warnings.
func (f *folder) plan(ctx context.Context, e *env, dir string) (*pb.Sources, *pb.PlanResponse, error) {
	sources, err := f.load(e, dir)
	if err != nil {
		return nil, nil, err
	}
	plan, err := call(ctx, e, services.Plan, &pb.PlanRequest{Namespace: e.namespace, Sources: sources})
	if err != nil {
		return nil, nil, err
	}
	if !e.json {
		e.report(plan.Findings)
		e.reportUnready(plan.Unready)
	}
	return sources, plan, nil
}

func (e *env) reportUnready(unready []*pb.Unready) {
	for _, u := range unready {
		fmt.Fprintf(e.stderr, "warning: %s could not run workload %s: %s\n", u.Leaf, u.Workload, u.Reason)
	}
}

func printPlan(w io.Writer, plan *pb.PlanResponse) {
	printChanges(w, plan.Changes)
	against := "nothing published so far"
	if plan.Base != 0 {
		against = fmt.Sprintf("revision %d", plan.Base)
	}
	fmt.Fprintf(w, "%s, compared with %s\n", countChanges(plan.Changes), against)
}
