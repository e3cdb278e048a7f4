package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newDecision(e *env) *cobra.Command {
	return e.asksAgent(noun("decision", "See what requests were sent where, and why",
		newDecisionTail(e), newDecisionShow(e), newDecisionReplay(e)))
}

func newDecisionTail(e *env) *cobra.Command {
	var c choice
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "List the latest attempts, and follow them",
		Long: `Lists attempts of the libraries behind an agent, one a line, the oldest first: when it ended, where it went, which of its
call it was, how it ended, the time to its first token and in all, tokens in and out (~: estimated), and what it cost. A call
that no endpoint could take is there as shed. The agent keeps the newest of them; nothing of prompts and answers is in them.`,
		Example: `  pointsman decision tail -follow
  pointsman decision tail -since 10m -workload support-chat -outcome faulted
  pointsman decision tail -n 1000 -json`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := c.asked(cmd, pb.RecordKind_RECORD_KIND_ATTEMPT)
			if err != nil {
				return err
			}
			return e.lines(cmd.Context(), q, attemptHeading, attemptLine)
		},
	}
	c.flags(e, cmd, 20)
	cmd.Flags().StringVar(&c.query.Outcome, "outcome", "", "only those that ended so")
	e.completeFlag(cmd, "outcome", completeOutcomes)
	return cmd
}

var (
	attemptWidths  = []int{24, 7, 14, 14, 3, 12, 8, 8, 13, 11}
	attemptHeading = columns(attemptWidths, "TIME", "ID", "WORKLOAD", "ENDPOINT", "TRY", "OUTCOME", "FIRST", "TOTAL", "TOKENS", "USD", "DETAIL")
)

func attemptLine(r *pb.Record) string {
	a := r.GetAttempt()
	return columns(attemptWidths, instant(r.TimeUs), number(r.Id), a.GetWorkload(), a.GetEndpoint(), number(a.GetNumber()), a.GetOutcome(),
		took(a.GetFirstTokenUs()), took(a.GetTotalUs()), tokens(a.GetUsage()), dollars(a.GetCostNanoUsd()), how(a))
}

// took is a time, and nothing for 0.
func took(us int64) string {
	switch {
	case us == 0:
		return ""
	case us < 1000:
		return fmt.Sprintf("%dµs", us)
	}
	return span(us)
}

func tokens(u *pb.Usage) string {
	if u == nil {
		return ""
	}
	guess := ""
	if u.Estimated {
		guess = "~"
	}
	return fmt.Sprintf("%s%d/%d", guess, u.Input, u.Output)
}

func dollars(nano int64) string {
	if nano == 0 {
		return ""
	}
	return money.Nano(nano).String()
}

// how is what else is known of an end.
func how(a *pb.Attempt) string {
	status := number(a.GetStatus())
	if a.GetOutcome() == route.Served.String() || strings.HasPrefix(a.GetDetail(), status) {
		return a.GetDetail()
	}
	return strings.TrimSpace(status + " " + a.GetDetail())
}

func completeOutcomes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{"shed"}
	for k := route.Abandoned; k.String() != "unknown"; k++ {
		names = append(names, k.String())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRecords gives the numbers of the latest attempts.
func (e *env) completeRecords(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.complete(cmd, func(ctx context.Context) (ids []string) {
		if len(args) > 0 {
			return nil
		}
		q := &pb.ListRecordsRequest{Kind: pb.RecordKind_RECORD_KIND_ATTEMPT, Limit: 20}
		_ = e.records(ctx, q, func(r *pb.Record) error { // nobody wants an error at a prompt
			a := r.GetAttempt()
			ids = append(ids, fmt.Sprintf("%d\t%s", r.Id, oneLine(a.GetWorkload()+" "+a.GetEndpoint()+" "+a.GetOutcome())))
			return nil
		})
		return ids
	})
}

// call is the record of a number, and all attempts of its call.
func (e *env) call(cmd *cobra.Command, id string) (wanted *pb.Record, all []*pb.Record, err error) {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || n == 0 {
		return nil, nil, usagef(cmd, "%q is no number of a record: `pointsman decision tail` shows them", id)
	}
	err = e.records(cmd.Context(), &pb.ListRecordsRequest{Id: n}, func(r *pb.Record) error {
		if r.Id == n {
			wanted = r
		}
		all = append(all, r)
		return nil
	})
	if err == nil && wanted == nil {
		err = fmt.Errorf("no record %d was sent", n)
	}
	return wanted, all, err
}
