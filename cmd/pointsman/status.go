package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newStatus(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what is served, and whether the fleet is well",
		Long: `Shows on one page what is served and pinned, which libraries do not run it, which breakers are not closed and why,
which overrides hold, and whether the store answers.`,
		Example: "  pointsman status",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := call(cmd.Context(), e, services.Status, &pb.StatusRequest{Namespace: e.namespace})
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) { printStatus(w, e.namespace, answer) })
		},
	}
}

func printStatus(w io.Writer, namespace string, s *pb.StatusResponse) {
	fields(w,
		"namespace", namespace,
		"head", headLine(s.Head),
		"changed", lastChange(s.Head),
		"fleet", fmt.Sprintf("%s, %s, %s on %s", plural(int(s.Endpoints), "endpoint"), plural(int(s.Workloads), "workload"), leaves(int(s.Leaves)), plural(int(s.Nodes), "node")),
		"store", storeLine(s),
		"leader", leaderLine(s),
		"server", s.ServerVersion,
	)
	if len(s.Behind) > 0 {
		fmt.Fprintf(w, "\nnot at the head: %s\n", leaves(len(s.Behind)))
		printClients(w, s.Behind)
	}
	if len(s.Open) > 0 {
		fmt.Fprintf(w, "\nbreakers not closed: %s\n", plural(len(s.Open), "endpoint"))
		printBreakers(w, s.Open)
	}
	if len(s.Overrides) > 0 {
		fmt.Fprintf(w, "\noverrides: %d\n", len(s.Overrides))
		printOverrides(w, s.Overrides)
	}
}

func leaves(n int) string {
	if n == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", n)
}

func lastChange(head *pb.Head) string {
	if head.GetTime() == nil {
		return ""
	}
	line := happened(head.GetTime(), head.GetActor())
	if head.GetReason() != "" {
		line += ": " + oneLine(head.GetReason())
	}
	return line
}

func storeLine(s *pb.StatusResponse) string {
	if s.StoreReachable {
		return fmt.Sprintf("reachable, head confirmed %s ago", span(s.HeadAgeUs))
	}
	return fmt.Sprintf("OUT OF REACH: head confirmed %s ago; what is served goes on", span(s.HeadAgeUs))
}

func leaderLine(s *pb.StatusResponse) string {
	if s.Term == 0 {
		return "none known"
	}
	return fmt.Sprintf("term %d", s.Term)
}

func printBreakers(w io.Writer, endpoints []*pb.EndpointInfo) {
	rows := [][]string{{"ENDPOINT", "CLASS", "STATE", "WHERE", "ROUND", "FOR", "WHY"}}
	for _, p := range endpoints {
		for _, b := range p.GetFleet().GetBreakers() {
			if b.State == pb.BreakerState_BREAKER_STATE_CLOSED {
				continue
			}
			rows = append(rows, []string{
				p.Name, strings.ToLower(strings.TrimPrefix(b.Class.String(), "CLASS_")), stateName(b.State), b.Locality,
				number(b.Round), remaining(b, p.FleetAgeUs), b.Reason,
			})
		}
	}
	table(w, rows)
	for _, p := range endpoints {
		for _, line := range p.Evidence {
			fmt.Fprintf(w, "  %s: %s\n", p.Name, oneLine(line))
		}
	}
}

// remaining is how long a breaker stays as it is, at the most; its times count from when the row was made.
func remaining(b *pb.FleetBreaker, age int64) string {
	switch b.State {
	case pb.BreakerState_BREAKER_STATE_OPEN:
		return span(max(0, b.OpenUs-age))
	case pb.BreakerState_BREAKER_STATE_RAMP:
		return span(max(0, b.RampUs-b.RampAgeUs-age))
	}
	return ""
}

func printOverrides(w io.Writer, overrides []*pb.Override) {
	rows := [][]string{{"ENDPOINT", "OVERRIDE", "LASTS", "ACTOR", "REASON"}}
	for _, o := range overrides {
		lasts := "until taken back"
		if o.DurationUs > 0 {
			lasts = span(o.DurationUs)
		}
		rows = append(rows, []string{o.Endpoint, overrideWord(o), lasts, o.Actor, o.Reason})
	}
	table(w, rows)
}
