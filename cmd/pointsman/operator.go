package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newOperator(e *env) *cobra.Command {
	return noun("operator", "Look after the control plane itself", newOperatorCheck(e), newOperatorAdopt(e))
}

func newOperatorCheck(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Look for what will hurt later",
		Long: `Looks at the store (members, space, compaction, alarms) and at the fleet (leader, libraries that are behind, overrides without
an end), and says what to do. Exit code 1 if something is wrong already; warnings alone are exit code 0.`,
		Example: "  pointsman operator check",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := call(cmd.Context(), e, services.Check, &pb.CheckRequest{Namespace: e.namespace})
			if err != nil {
				return err
			}
			if err := e.print(answer, func(w io.Writer) { printCheck(w, answer.Findings) }); err != nil {
				return err
			}
			return checked(answer.Findings)
		},
	}
}

func printCheck(w io.Writer, findings []*pb.CheckFinding) {
	if len(findings) == 0 {
		fmt.Fprintln(w, "nothing found")
		return
	}
	for _, f := range findings {
		fmt.Fprintf(w, "%s: %s\n", severityName(f.Severity), oneLine(f.Summary))
		if f.Remedy != "" {
			fmt.Fprintf(w, "    %s\n", oneLine(f.Remedy))
		}
	}
}

func severityName(s pb.Severity) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "SEVERITY_"))
}

func checked(findings []*pb.CheckFinding) error {
	wrong := 0
	for _, f := range findings {
		if f.Severity == pb.Severity_SEVERITY_ERROR {
			wrong++
		}
	}
	if wrong == 0 {
		return nil
	}
	return &failure{code: exitFailed, err: fmt.Errorf("%s to mend", plural(wrong, "thing"))}
}

func newOperatorAdopt(e *env) *cobra.Command {
	var reason string
	var yes, force bool
	cmd := &cobra.Command{
		Use:   "adopt-store -reason WHY",
		Short: "After etcd was restored from a backup: what it holds now is what counts",
		Long: `A store that went back is older than what libraries hold: they keep that, status has the alarm store_regressed, and publishing
is refused. This raises the epoch, so that what the store holds counts as newer: libraries take it, and lose what was
published since the backup. Look first at what that is: ` + "`pointsman catalog show`" + `. On a terminal it asks. While
status has no such alarm it is refused (exit code 4) without -force, which a restore takes that too few libraries saw.`,
		Example: `  pointsman operator adopt-store -reason "etcd restored from Monday's backup"`,
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := e.why(cmd, &reason); err != nil {
				return err
			}
			if !force {
				if err := e.wentBack(cmd.Context()); err != nil {
					return err
				}
			}
			if !yes && e.interactive() {
				if err := e.confirm("every library will take what this store holds, whatever it runs now. Adopt it? [y/N] "); err != nil {
					return err
				}
			}
			answer, err := call(cmd.Context(), e, services.AdoptStore, &pb.AdoptStoreRequest{Namespace: e.namespace, Reason: reason})
			return e.done(fmt.Sprintf("adopted: what the store holds counts from now on, as epoch %d", answer.GetEpoch()), answer, err)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; asked for on a terminal")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&force, "force", false, "also when the store did not go back")
	return cmd
}

const storeRegressed = "store_regressed" // the alarm's first word

// wentBack refuses to adopt a store that is ahead of everybody.
func (e *env) wentBack(ctx context.Context) error {
	answer, err := call(ctx, e, services.Status, &pb.StatusRequest{Namespace: e.namespace})
	if err != nil {
		return err
	}
	for _, alarm := range answer.GetAlarms() {
		if strings.HasPrefix(alarm, storeRegressed) {
			return nil
		}
	}
	return &failure{
		code: exitRefused,
		err: fmt.Errorf("there is no alarm %s: adopting would begin epoch %d, and each library would take generation %d anew, whatever it holds",
			storeRegressed, answer.GetHead().GetEpoch()+1, answer.GetHead().GetGeneration()),
		next: "-force does it all the same: after a restore that too few libraries saw for an alarm",
	}
}
