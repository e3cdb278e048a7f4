package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newDecisionShow(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show all that is known of an attempt",
		Long: `Shows how an attempt ended and how its endpoint was chosen: the candidates that were drawn, with what their scores were made
of and how old that was. Errors, sheds and samples, one a second at most, have all candidates with the gates that refuse them,
as they were when the attempt had ended. The other attempts of the same call are listed below.`,
		Example:           "  pointsman decision show 48213",
		Args:              takes(1, 1),
		ValidArgsFunction: e.completeRecords,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, all, err := e.call(cmd, args[0])
			if err != nil {
				return err
			}
			return e.print(&pb.ListRecordsResponse{Records: all}, func(w io.Writer) { printRecord(w, r, all) })
		},
	}
}

func printRecord(w io.Writer, r *pb.Record, all []*pb.Record) {
	if ev := r.GetEvent(); ev != nil {
		fields(w, "record", number(r.Id), "time", instant(r.TimeUs), "leaf", r.Leaf, "event", ev.Kind, "about", eventDetail(ev))
		return
	}
	a := r.GetAttempt()
	fields(w,
		"record", number(r.Id),
		"time", instant(r.TimeUs),
		"leaf", r.Leaf,
		"workload", a.GetWorkload(),
		"tenant", a.GetTenant(),
		"endpoint", a.GetEndpoint(),
		"attempt", attemptWord(a),
		"outcome", outcomeWord(a),
		"request id", a.GetRequestId(),
		"first token", took(a.GetFirstTokenUs()),
		"total", took(a.GetTotalUs()),
		"tokens", usageWord(a.GetUsage()),
		"cost", costWord(a.GetCostNanoUsd()),
	)
	if a.GetDecision() != nil {
		fmt.Fprintln(w)
		printDecision(w, a)
	}
	if x := a.GetExplanation(); x != nil {
		fmt.Fprintln(w, "\nall candidates, when it had ended")
		printConsidered(w, x.Candidates, func(c *pb.Considered) string { return gateWord(c.Reason) })
		if x.Omitted > 0 {
			fmt.Fprintf(w, "and %d more\n", x.Omitted)
		}
	}
	if len(all) > 1 {
		fmt.Fprintf(w, "\nits call\n%s\n", attemptHeading)
		for _, other := range all {
			fmt.Fprintln(w, attemptLine(other))
		}
	}
}

func attemptWord(a *pb.Attempt) string {
	if a.GetNumber() == 0 {
		return ""
	}
	if a.GetProbe() {
		return number(a.Number) + ", a probe"
	}
	return number(a.Number)
}

func outcomeWord(a *pb.Attempt) string {
	word := fmt.Sprintf("%s, domain %s, phase %s", a.GetOutcome(), a.GetDomain(), a.GetPhase())
	if a.GetStatus() != 0 {
		word += fmt.Sprintf(", status %d", a.Status)
	}
	if a.GetDetail() != "" {
		word += ": " + a.Detail
	}
	return word
}

func usageWord(u *pb.Usage) string {
	if u == nil {
		return ""
	}
	word := fmt.Sprintf("%d in, %d of them cached, %d written; %d out", u.Input, u.Cached, u.Written, u.Output)
	if u.Estimated {
		word += "; estimated"
	}
	return word
}

func costWord(nano int64) string {
	if nano == 0 {
		return ""
	}
	return "USD " + dollars(nano)
}

func gateWord(reason string) string {
	if reason == "" {
		return "passes"
	}
	return reason
}

func printDecision(w io.Writer, a *pb.Attempt) {
	d := a.Decision
	refused := ""
	if d.Refusals > 0 {
		refused = fmt.Sprintf("%s: %s", plural(int(d.Refusals), "draw"), strings.Join(d.Refused, ", "))
	}
	liked := ""
	if d.Top > 0 || d.Factor > 0 {
		liked = fmt.Sprintf("%.4g of %.4g", d.Factor, d.Top)
	}
	bias := ""
	if d.Bias > 0 && len(d.Drawn) == 2 {
		bias = fmt.Sprintf("%s is left when the score of %s × %.4g is lower", d.Drawn[0].Endpoint, d.Drawn[1].Endpoint, d.Bias)
	}
	fields(w,
		"catalog", fmt.Sprintf("revision %d, generation %d", d.Revision, d.Generation),
		"strategy", fmt.Sprintf("%s, version %d", d.Strategy, d.Version),
		"found", d.Way,
		"refused", refused,
		"liked", liked,
		"bias", bias,
		"replay", again(a).word(),
	)
	core := wire.Decision(d)
	for i, c := range d.Drawn {
		if i < len(core.Candidates) && len(d.Drawn) > 1 {
			c.Score = core.Score(i)
		}
	}
	printConsidered(w, d.Drawn, func(c *pb.Considered) string {
		if c == d.Drawn[min(int(d.Chosen), len(d.Drawn)-1)] {
			return "chosen"
		}
		return "drawn"
	})
}

func printConsidered(w io.Writer, all []*pb.Considered, what func(*pb.Considered) string) {
	rows := [][]string{{"ENDPOINT", "TIER", "GATE", "LOAD", "TIME", "PRICE", "SHARE", "TOKENS", "RATE", "TEMPER", "HEALTH", "SCORE", "FLEET AGE", "SAMPLE AGE", "SAMPLES"}}
	for _, c := range all {
		rows = append(rows, []string{
			c.Endpoint, c.Tier, what(c), quantity(c.Load), took(int64(c.TimeUs)), took(int64(c.Price)), quantity(c.Share),
			quantity(c.Tokens), quantity(c.Rate), quantity(c.Temper), quantity(c.Health), quantity(c.Score), took(int64(c.RowAgeMs) * 1000), took(int64(c.SampleAgeMs) * 1000), number(c.Samples),
		})
	}
	table(w, slim(rows))
}

// slim leaves out the columns in which nothing is.
func slim(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for column := range rows[0] {
		if slices.ContainsFunc(rows[1:], func(row []string) bool { return row[column] != "" }) {
			for i, row := range rows {
				out[i] = append(out[i], row[column])
			}
		}
	}
	return out
}

// quantity is a number, and nothing for 0.
func quantity(f float64) string {
	if f == 0 {
		return ""
	}
	return fmt.Sprintf("%.6g", f)
}
