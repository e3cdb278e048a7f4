package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newCatalogPin(e *env) *cobra.Command {
	var request pb.PinRequest
	cmd := &cobra.Command{
		Use:   "pin REVISION|TAG -reason WHY [-workload NAME]",
		Short: "Keep the fleet, or one workload, at a revision",
		Long: `Serves a revision, whatever is published later, until it is unpinned: to the whole fleet, or to one workload with all
that it reaches. Overrides, tenants and credentials stay current.`,
		Example: `  pointsman catalog pin 11 -reason "12 doubled the cost"
  pointsman catalog pin stable -workload support-chat -reason "before the holidays"`,
		Args:              takes(1, 1),
		ValidArgsFunction: e.completeRevisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if request.Reason == "" {
				return usagef(cmd, "a pin needs -reason: others will want to know")
			}
			request.Namespace, request.Actor = e.namespace, e.user()
			request.Revision, request.Tag = revisionArg(args)
			answer, err := call(cmd.Context(), e, services.Pin, &request)
			return e.headed("", answer, err)
		},
	}
	cmd.Flags().StringVar(&request.Workload, "workload", "", "pin only this `workload`")
	cmd.Flags().StringVar(&request.Reason, "reason", "", "why")
	e.completeFlag(cmd, "workload", e.completeWorkloads)
	return cmd
}

func newCatalogUnpin(e *env) *cobra.Command {
	var request pb.UnpinRequest
	cmd := &cobra.Command{
		Use:   "unpin [-workload NAME] [-reason WHY]",
		Short: "Serve the newest published revision again",
		Example: `  pointsman catalog unpin
  pointsman catalog unpin -workload support-chat`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			request.Namespace, request.Actor = e.namespace, e.user()
			answer, err := call(cmd.Context(), e, services.Unpin, &request)
			return e.headed("", answer, err)
		},
	}
	cmd.Flags().StringVar(&request.Workload, "workload", "", "unpin only this `workload`")
	cmd.Flags().StringVar(&request.Reason, "reason", "", "why")
	e.completeFlag(cmd, "workload", e.completeWorkloads)
	return cmd
}

func newCatalogTag(e *env) *cobra.Command {
	var drop bool
	cmd := &cobra.Command{
		Use:   "tag NAME REVISION | tag -delete NAME",
		Short: "Name a revision",
		Example: `  pointsman catalog tag stable 12
  pointsman catalog tag -delete stable`,
		Args: takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if drop == (len(args) == 2) {
				return usagef(cmd, "give a name and a revision, or -delete and a name")
			}
			request := &pb.TagRequest{Namespace: e.namespace, Name: args[0], Actor: e.user()}
			if !drop {
				var err error
				if request.Revision, err = e.resolve(cmd.Context(), args[1]); err != nil {
					return err
				}
			}
			answer, err := call(cmd.Context(), e, services.Tag, request)
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) {
				if drop {
					fmt.Fprintf(w, "tag %s is gone\n", request.Name)
				} else {
					fmt.Fprintf(w, "revision %d is %s\n", request.Revision, request.Name)
				}
			})
		},
	}
	cmd.Flags().BoolVar(&drop, "delete", false, "take the tag away")
	return cmd
}

// resolve gives the number of a revision that a number or a tag names.
func (e *env) resolve(ctx context.Context, arg string) (uint64, error) {
	revision, tag := revisionArg([]string{arg})
	if tag == "" {
		return revision, nil
	}
	answer, err := call(ctx, e, services.Show, &pb.ShowRequest{Namespace: e.namespace, Tag: tag})
	if err != nil {
		return 0, err
	}
	return answer.GetInfo().GetRevision(), nil
}

// headed prints what was done and the head that it led to.
func (e *env) headed(done string, answer interface{ GetHead() *pb.Head }, err error) error {
	if err != nil {
		return err
	}
	head := answer.GetHead()
	if done != "" {
		done += "; "
	}
	return e.print(head, func(w io.Writer) { fmt.Fprintln(w, done+headLine(head)) })
}

// headLine is a head in one line.
func headLine(head *pb.Head) string {
	if head.GetGeneration() == 0 {
		return "nothing published yet"
	}
	line := fmt.Sprintf("generation %d serves revision %d", head.GetGeneration(), head.GetServing())
	switch {
	case head.GetPin() != 0 && head.GetPin() != head.GetPublished():
		line += fmt.Sprintf(", pinned; %d is published", head.GetPublished())
	case head.GetPin() != 0:
		line += ", pinned"
	case head.GetServing() != head.GetPublished():
		line += fmt.Sprintf(", which is %d with pins", head.GetPublished())
	}
	for _, pin := range head.GetPins() {
		line += fmt.Sprintf("; workload %s is pinned to %d", pin.Workload, pin.Revision)
	}
	return line
}
