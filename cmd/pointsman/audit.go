package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newAudit(e *env) *cobra.Command {
	return noun("audit", "See what people did, and whether the record of it is whole", newAuditList(e), newAuditVerify(e))
}

func newAuditList(e *env) *cobra.Command {
	var since time.Duration
	request := &pb.ListAuditRequest{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what people did",
		Long: `Lists what people did to the control plane, one act a line, the oldest first: when, who, what, why, and the generation that
it led to. ACTOR is the identity of the connection; a name in brackets is only what the caller said.

With -json each line is a ListAuditResponse: the record, and its hash as the logs of the control plane have it.`,
		Example: "  pointsman audit list -since 168h\n  pointsman audit list -actor token/ci",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if since < 0 || cmd.Flags().Changed("since") && since == 0 {
				return usagef(cmd, "-since %v: want more than nothing", since)
			}
			request.Namespace = e.namespace
			if since > 0 {
				request.Since = timestamppb.New(time.Now().Add(-since))
			}
			l := liner{env: e, heading: auditHeading}
			err := stream(cmd.Context(), e, streaming[pb.ListAuditResponse]{
				open: func(ctx context.Context, s services) (grpc.ServerStreamingClient[pb.ListAuditResponse], error) {
					return s.ListAudit(ctx, request)
				},
				each: func(m *pb.ListAuditResponse) error { return l.print(m, auditLine(m.GetRecord())) },
			})
			if err == nil && l.printed == 0 && !e.json {
				fmt.Fprintln(e.stdout, "no such act is recorded")
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&since, "since", 0, "only what is younger than this")
	cmd.Flags().StringVar(&request.Actor, "actor", "", "only of this `identity`")
	return cmd
}

var (
	auditWidths  = []int{7, 20, 20, 14, 20, 10, 8}
	auditHeading = columns(auditWidths, "NUMBER", "TIME", "ACTOR", "ACT", "ON", "GENERATION", "REVISION", "WHY")
)

func auditLine(r *pb.AuditRecord) string {
	return columns(auditWidths, number(r.GetNumber()), moment(r.GetTime()), r.GetActor(), r.GetVerb(), r.GetSubject(),
		number(r.GetGeneration()), number(r.GetRevision()), r.GetReason())
}

func newAuditVerify(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check that no record of an act was changed or taken out",
		Long: `Follows the chain: each record has the hash of the one before it. Exit code 1 if one does not fit. Whoever can write to etcd
could make a whole new chain, so compare the hash that is printed with what the control plane logged for that number.`,
		Example: "  pointsman audit verify",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := call(cmd.Context(), e, services.VerifyAudit, &pb.VerifyAuditRequest{Namespace: e.namespace})
			if err != nil {
				return err
			}
			if err := e.print(answer, func(w io.Writer) { printVerified(w, answer) }); err != nil {
				return err
			}
			if answer.Fault != "" {
				return &failure{
					code: exitFailed, err: fmt.Errorf("the audit is not whole: %s", oneLine(answer.Fault)),
					next: "find the number in the control planes' logs (\"audit\", with the hash), and who may write to etcd",
				}
			}
			return nil
		},
	}
}

func printVerified(w io.Writer, v *pb.VerifyAuditResponse) {
	if v.Records == 0 {
		fmt.Fprintln(w, "no act is recorded yet")
		return
	}
	fields(w,
		"records", fmt.Sprintf("%d, from %d to %d", v.Records, v.First, v.Last),
		"last hash", hex.EncodeToString(v.Hash),
	)
	if v.Fault == "" {
		fmt.Fprintln(w, "each has the hash of the one before it")
	}
}
