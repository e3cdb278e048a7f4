package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/controlplane/rpc"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newStatus(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what is served, and whether the fleet is well",
		Long: `Shows on one page what wants attention, first in one line: alarms, breakers that are not closed and why, quotas that pause
after their provider's 429s, workloads that refuse calls now, libraries that do not run what is served; then overrides. Any
replica answers for the whole fleet; one that cannot reach the leader says so, and what it knows itself.`,
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
		"state", stateLine(s),
		"namespace", namespace,
		"head", headLine(s.Head),
		"changed", lastChange(s.Head),
		"fleet", fmt.Sprintf("%s, %s, %s on %s", plural(int(s.Endpoints), "endpoint"), plural(int(s.Workloads), "workload"), leaves(int(s.Leaves)), plural(int(s.Nodes), "node")),
		"store", storeLine(s),
		"leader", leaderLine(s),
		"server", s.ServerVersion,
	)
	for _, p := range []part{
		{"alarms", "", "", len(s.Alarms), func(n int) { printAlarms(w, s.Alarms[:n]) }},
		{"breakers not closed", "endpoint", "breaker list", len(s.Open), func(n int) { printBreakers(w, breakersOf(s.Open[:n])) }},
		{"quotas that pause", "", "status -json", len(s.Spent), func(n int) { printSpent(w, s.Spent[:n]) }},
		{"workloads that refuse calls", "", "status -json", len(s.Shedding), func(n int) { printShedding(w, s.Shedding[:n]) }},
		{"leaves that do not run what is served", "", "client list -behind", len(s.Behind), func(n int) { printClients(w, s.Behind[:n]) }},
		{"overrides", "", "status -json", len(s.Overrides), func(n int) { printOverrides(w, s.Overrides[:n]) }},
	} {
		p.print(w)
	}
}

// part is a table of the page: all of it is to be had by another command.
type part struct {
	name string
	of   string // what is counted; empty: what the name says
	all  string // the command that has all of it
	n    int
	rows func(n int)
}

func (p part) print(w io.Writer) {
	if p.n == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s: %s\n", p.name, p.count())
	shown := p.n
	if p.all != "" {
		shown = min(shown, shownMost)
	}
	p.rows(shown)
	if shown < p.n {
		fmt.Fprintf(w, "and %d more: `pointsman %s`\n", p.n-shown, p.all)
	}
}

// count is how many there are, of what if the name does not say it.
func (p part) count() string {
	if p.of != "" {
		return plural(p.n, p.of)
	}
	return fmt.Sprint(p.n)
}

const (
	shownMost = 20              // rows of a table on the page
	takesTime = 5 * time.Second // for all leaves to run a new head
)

func printAlarms(w io.Writer, alarms []string) {
	for _, alarm := range alarms {
		fmt.Fprintf(w, "  %s\n", oneLine(alarm))
	}
}

// stateLine says in one line what to look at.
func stateLine(s *pb.StatusResponse) string {
	var words []string
	add := func(n int, text string) {
		if n > 0 {
			words = append(words, text)
		}
	}
	if !s.StoreReachable {
		words = append(words, "the store is OUT OF REACH")
	}
	if s.Leader == nil {
		words = append(words, "NOBODY LEADS")
	}
	add(len(s.Alarms), plural(len(s.Alarms), "alarm"))
	add(len(s.Open), plural(len(s.Open), "endpoint")+" with a breaker that is not closed")
	add(len(s.Spent), plural(len(s.Spent), "quota")+" paused")
	add(len(s.Shedding), plural(len(s.Shedding), "workload")+" refusing calls")
	add(len(s.Behind), leaves(len(s.Behind))+" not at the head"+justChanged(s.Head))
	if len(words) == 0 {
		return "well"
	}
	return "look at: " + strings.Join(words, ", ")
}

// justChanged says that leaves may need a moment still.
func justChanged(head *pb.Head) string {
	if ago := time.Since(head.GetTime().AsTime()); head.GetTime() != nil && ago < takesTime {
		return ", which changed just now"
	}
	return ""
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

// leaderLine is who leads, and whether that is who answers.
func leaderLine(s *pb.StatusResponse) string {
	l := s.GetLeader()
	switch {
	case l == nil && s.Term == 0:
		return "none: each process goes by its own breakers"
	case l == nil:
		return fmt.Sprintf("none now; what is known is of term %d, and ages", s.Term)
	}
	line := fmt.Sprintf("%s, term %d", l.GetReplica(), l.GetTerm())
	if l.GetAddress() != "" && l.GetAddress() != l.GetReplica() {
		line = fmt.Sprintf("%s at %s, term %d", l.GetReplica(), l.GetAddress(), l.GetTerm())
	}
	if l.Since != nil {
		line += ", since " + moment(l.Since)
	}
	if s.Leads {
		line += ": this replica"
	}
	return line
}

// breakersOf are the breakers of endpoints that are not closed.
func breakersOf(endpoints []*pb.EndpointInfo) []*pb.BreakerInfo {
	var out []*pb.BreakerInfo
	for _, p := range endpoints {
		out = append(out, rpc.BreakersOf(p)...)
	}
	return slices.DeleteFunc(out, isClosed)
}

func printSpent(w io.Writer, spent []*pb.SpentQuota) {
	rows := [][]string{{"QUOTA", "PAUSES FOR", "LEAVES THAT SAY SO"}}
	for _, q := range spent {
		rows = append(rows, []string{q.Quota, span(q.RemainingUs), number(q.Leaves)})
	}
	table(w, rows)
}

func printShedding(w io.Writer, shedding []*pb.SheddingWorkload) {
	rows := [][]string{{"WORKLOAD", "REASON", "CALLS A SECOND", "LEAVES"}}
	for _, s := range shedding {
		rows = append(rows, []string{s.Workload, s.Reason, fmt.Sprintf("%.3g", s.PerSecond), number(s.Leaves)})
	}
	table(w, rows)
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
