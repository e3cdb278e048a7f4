package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newDecisionReplay(e *env) *cobra.Command {
	var c choice
	cmd := &cobra.Command{
		Use:   "replay [ID]",
		Short: "Make recorded decisions again, and compare",
		Long: `Makes one decision again, or many, from their records alone, and says whether the same endpoint comes out. Those that this
program cannot make again, for its strategy is of another version, count apart. The exit code is 1 unless all are the same.`,
		Example: `  pointsman decision replay 48213
  pointsman decision replay -since 1h -workload support-chat`,
		Args:              takes(0, 1),
		ValidArgsFunction: e.completeRecords,
		RunE: func(cmd *cobra.Command, args []string) error {
			all := replays{Others: []replay{}}
			if err := e.replay(cmd, args, &c, &all); err != nil {
				return err
			}
			return e.replayed(&all)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&c.since, "since", 0, "all that are younger than this")
	f.StringVar(&c.query.Workload, "workload", "", "only of this workload")
	f.StringVar(&c.query.Endpoint, "endpoint", "", "only of this endpoint")
	e.completeFlag(cmd, "workload", e.completeWorkloads)
	e.completeFlag(cmd, "endpoint", e.completeEndpoints)
	return cmd
}

// replay makes the decision of the record that is named again, or of all that the flags choose.
func (e *env) replay(cmd *cobra.Command, args []string, c *choice, all *replays) error {
	q, err := c.asked(cmd, pb.RecordKind_RECORD_KIND_ATTEMPT)
	switch {
	case err != nil:
		return err
	case len(args) == 1 && c.since > 0, len(args) == 0 && c.since == 0:
		return usagef(cmd, "give the number of a record, or -since")
	case len(args) == 1:
		r, _, err := e.call(cmd, args[0])
		if err == nil {
			all.add(r)
		}
		return err
	}
	q.Limit = 0
	return e.records(cmd.Context(), q, func(r *pb.Record) error { all.add(r); return nil })
}

// replay is what came of making a decision again.
type replay struct {
	ID      uint64 `json:"id,string"`
	Then    string `json:"then"`
	Now     string `json:"now,omitempty"`
	Problem string `json:"problem,omitempty"` // why it could not be made
}

// replays sums up many. Those that are not the same are listed, the first of them.
type replays struct {
	Same          int      `json:"same"`
	Different     int      `json:"different"`
	NotReplayable int      `json:"not_replayable"`
	Others        []replay `json:"others"`
}

const maxOthers = 100

// again makes the decision that sent an attempt once more.
func again(a *pb.Attempt) replay {
	core := wire.Decision(a.GetDecision())
	endpoint, err := route.Replay(&core)
	if err != nil {
		d := a.GetDecision()
		return replay{Then: a.GetEndpoint(), Problem: fmt.Sprintf("%v: %s version %d", route.ErrReplay, d.GetStrategy(), d.GetVersion())}
	}
	return replay{Then: a.GetEndpoint(), Now: endpoint}
}

func (r replay) word() string {
	switch {
	case r.Problem != "":
		return r.Problem
	case r.Now != r.Then:
		return fmt.Sprintf("different: %s", r.Now)
	}
	return "the same"
}

// add makes a record's decision again; what was shed or is an event holds none.
func (s *replays) add(record *pb.Record) {
	if record.GetAttempt().GetDecision() == nil {
		return
	}
	r := again(record.GetAttempt())
	r.ID = record.Id
	switch {
	case r.Problem != "":
		s.NotReplayable++
	case r.Now != r.Then:
		s.Different++
	default:
		s.Same++
		return
	}
	if len(s.Others) < maxOthers {
		s.Others = append(s.Others, r)
	}
}

// replayed shows what came of all; anything but the same is a failure.
func (e *env) replayed(s *replays) error {
	if s.Same+s.Different+s.NotReplayable == 0 {
		return &failure{code: exitFailed, err: fmt.Errorf("no decision is recorded there"), next: "`pointsman decision tail` shows what there is"}
	}
	if e.json {
		if err := e.printData(s); err != nil {
			return err
		}
	} else {
		printReplays(e.stdout, s)
	}
	if s.Different+s.NotReplayable > 0 {
		return fmt.Errorf("%d of %s did not come out the same", s.Different+s.NotReplayable, plural(s.Same+s.Different+s.NotReplayable, "decision"))
	}
	return nil
}

func printReplays(w io.Writer, s *replays) {
	fmt.Fprintf(w, "%d the same, %d different, %d not replayable\n", s.Same, s.Different, s.NotReplayable)
	if len(s.Others) == 0 {
		return
	}
	rows := [][]string{{"ID", "THEN", "NOW"}}
	for _, r := range s.Others {
		rows = append(rows, []string{number(r.ID), r.Then, r.word()})
	}
	table(w, rows)
}
