package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/agent"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// asksAgent gives a noun the flag that says which agent it asks.
func (e *env) asksAgent(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().StringVar(&e.agent, "agent", e.lookup("POINTSMAN_AGENT", "unix://"+agent.DefaultSocket),
		"the agent: unix:///path or host:port")
	return cmd
}

// records asks the agent and shows what it sends, one record after the other. A stream that
// follows goes on until it is interrupted, which is no failure.
func (e *env) records(ctx context.Context, q *pb.ListRecordsRequest, show func(*pb.Record) error) error {
	conn, err := e.connect(e.agent, "an agent", e.tokenFile)
	if err != nil {
		return err
	}
	defer conn.Close()
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	within := e.timeout
	if q.Follow {
		within = forever
	}
	var answers pb.RecordService_ListRecordsClient
	err = waits(within, cancel, func() (err error) {
		answers, err = pb.NewRecordServiceClient(conn).ListRecords(asking, q)
		return err
	})
	for err == nil {
		var m *pb.ListRecordsResponse
		err = waits(within, cancel, func() (err error) { m, err = answers.Recv(); return err })
		if err == nil {
			err = e.each(m, show)
		}
	}
	if errors.Is(err, io.EOF) || q.Follow && ctx.Err() != nil {
		return nil
	}
	return e.refusedRecords(err)
}

const forever = time.Duration(math.MaxInt64)

// waits bounds one answer: how long a terminal takes to show them, or a pager, is no matter.
func waits(within time.Duration, cancel func(), ask func() error) error {
	late := time.AfterFunc(within, cancel)
	err := ask()
	if !late.Stop() {
		return status.FromContextError(context.DeadlineExceeded).Err()
	}
	return err
}

func (e *env) each(m *pb.ListRecordsResponse, show func(*pb.Record) error) error {
	if m.Missed > 0 {
		fmt.Fprintf(e.stderr, "%s overwritten or spoiled before they could be read\n", plural(int(m.Missed), "record"))
	}
	for _, r := range m.Records {
		if err := show(r); err != nil {
			return err
		}
	}
	return nil
}

// refusedRecords says what a failed call for records means.
func (e *env) refusedRecords(err error) error {
	f, ok := errors.AsType[*failure](e.refusedNode(err))
	if !ok {
		return err
	}
	switch status.Code(err) {
	case codes.Unimplemented:
		f.err = fmt.Errorf("what answers at %s keeps no records", e.agent)
	case codes.ResourceExhausted:
		f.next = "try again when one of them has ended"
	case codes.NotFound:
		f.next = "`pointsman decision tail` and `pointsman event list -agent` say what there is"
	}
	return f
}

// refusedNode says what a failed call of the agent means.
func (e *env) refusedNode(err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	f := &failure{code: exitFailed, err: errors.New(s.Message())}
	switch s.Code() {
	case codes.Unavailable:
		f.err = fmt.Errorf("cannot reach the agent at %s: %s", e.agent, cause(s.Message()))
		f.next = "start pointsman-agent, or set POINTSMAN_AGENT or -agent; `pointsman dev` says where its own is"
	case codes.Unimplemented:
		f.err = fmt.Errorf("what answers at %s is no agent, or an older one", e.agent)
		f.next = "set POINTSMAN_AGENT or -agent"
	case codes.DeadlineExceeded:
		f.err = fmt.Errorf("no answer from the agent at %s within %v", e.agent, e.timeout)
		f.next = "wait longer with -timeout, or look at its log"
	case codes.PermissionDenied, codes.Unauthenticated:
		f.next = "ask as the agent's own user, or root"
	case codes.Canceled:
		f.err = errors.New("interrupted")
	}
	return f
}

// choice is the flags that choose records.
type choice struct {
	query pb.ListRecordsRequest
	since time.Duration
	last  uint32
}

// flags of those commands that list; so many are shown where -since says nothing.
func (c *choice) flags(e *env, cmd *cobra.Command, last uint32) {
	f := cmd.Flags()
	f.DurationVar(&c.since, "since", 0, "only what is younger than this")
	f.Uint32VarP(&c.last, "n", "n", last, "the last `count`, 0 for all (with -since: all, unless given)")
	f.BoolVar(&c.query.Follow, "follow", false, "go on with what comes, until interrupted")
	f.StringVar(&c.query.Workload, "workload", "", "only of this workload")
	f.StringVar(&c.query.Endpoint, "endpoint", "", "only of this endpoint")
	f.StringVar(&c.query.Leaf, "leaf", "", "only of the library of this `name`, as client list and event list show it")
	e.completeFlag(cmd, "workload", e.completeWorkloads)
	e.completeFlag(cmd, "endpoint", e.completeEndpoints)
}

// asked is the query that the flags make.
func (c *choice) asked(cmd *cobra.Command, kind pb.RecordKind) (*pb.ListRecordsRequest, error) {
	if c.since < 0 || cmd.Flags().Changed("since") && c.since == 0 {
		return nil, usagef(cmd, "-since %v: want more than nothing", c.since)
	}
	c.query.Kind = kind
	if c.since > 0 {
		c.query.SinceUs = time.Now().Add(-c.since).UnixMicro()
	}
	if c.since == 0 || cmd.Flags().Changed("n") {
		c.query.Limit = c.last
	}
	return &c.query, nil
}

// lines shows records one a line: as JSON to programs, below a heading to people.
func (e *env) lines(ctx context.Context, q *pb.ListRecordsRequest, heading string, line func(*pb.Record) string) error {
	l := liner{env: e, heading: heading}
	err := e.records(ctx, q, func(r *pb.Record) error { return l.print(r, line(r)) })
	if err == nil && l.printed == 0 && !e.json && !q.Follow {
		fmt.Fprintln(e.stdout, "no such record is kept")
	}
	return err
}

// instant is a time in µs since 1970, to the millisecond.
func instant(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.000Z") }

// columns pads cells to widths, so that lines that come one by one stand below each other;
// the last cell may be long.
func columns(widths []int, cells ...string) string {
	line := ""
	for i, cell := range cells {
		if cell = oneLine(cell); cell == "" {
			cell = "-"
		}
		if i < len(widths) {
			cell = fmt.Sprintf("%-*s  ", widths[i], cell)
		}
		line += cell
	}
	return line
}
