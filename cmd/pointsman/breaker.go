package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newBreaker(e *env) *cobra.Command {
	return noun("breaker", "See the fleet's breakers, watch them, and force them",
		newBreakerList(e), newBreakerWatch(e),
		newBreakerForce(e, forcing{
			use: "open", open: true, done: "is forced open", reason: "bad answers", short: "Send an endpoint nothing, whatever the fleet thinks",
			long: `Holds the breaker of an endpoint open: no request and no probe goes there, what runs there goes on. If that leaves a
workload with nothing it is refused (exit code 4) without -force.`,
		}),
		newBreakerForce(e, forcing{
			use: "close", done: "is forced closed", reason: "only its health check fails", short: "Send to an endpoint, whatever the fleet thinks",
			long: `Holds the breaker of an endpoint closed: the fleet's word and each process's own are passed over. Requests go there even
when all of them fail: give it an end with -for.`,
		}),
		newBreakerClear(e))
}

func newBreakerList(e *env) *cobra.Command {
	request := &pb.ListBreakersRequest{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List breakers that are not closed, and why",
		Long: `Lists the fleet's breakers that are not closed, and those that are forced. CLASS is the kind of requests, WHERE the
locality (-: everywhere), ROUND counts openings, LEFT is how long it stays open, or ramps, at most. What one process
alone holds open is not the fleet's: ` + "`pointsman event list -agent local -kind opened`" + `.`,
		Example: "  pointsman breaker list\n  pointsman breaker list -all",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			request.Namespace = e.namespace
			answer, err := call(cmd.Context(), e, services.ListBreakers, request)
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) { printBreakers(w, answer.Breakers) })
		},
	}
	cmd.Flags().BoolVar(&request.All, "all", false, "also those that are closed")
	return cmd
}

// forcing is one of the two ways.
type forcing struct {
	use, short, long, done string
	reason                 string // of the example
	open                   bool
}

func newBreakerForce(e *env, f forcing) *cobra.Command {
	var o order
	cmd := &cobra.Command{
		Use:               f.use + " ENDPOINT -reason WHY [-for TIME]",
		Short:             f.short,
		Long:              f.long,
		Example:           fmt.Sprintf("  pointsman breaker %s gpu-b -reason %q -for 30m", f.use, f.reason),
		Args:              takes(1, 1),
		ValidArgsFunction: e.completeEndpoints,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(e, cmd, "breaker clear"); err != nil {
				return err
			}
			word := o.override(e, args[0])
			word.What = &pb.Override_Breaker{Breaker: &pb.ForcedBreaker{Open: f.open}}
			answer, err := call(cmd.Context(), e, services.SetOverride, &pb.SetOverrideRequest{Namespace: e.namespace, Force: o.force, Override: word})
			return e.headed("the breaker of "+args[0]+" "+f.done+o.until(), answer, err)
		},
	}
	o.flags(cmd)
	return cmd
}

func newBreakerClear(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "clear ENDPOINT",
		Short:             "Leave a breaker to the fleet again",
		Example:           "  pointsman breaker clear gpu-b",
		Args:              takes(1, 1),
		ValidArgsFunction: e.completeEndpoints,
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := call(cmd.Context(), e, services.RemoveOverride,
				&pb.RemoveOverrideRequest{Namespace: e.namespace, Endpoint: args[0], Kind: "breaker"})
			return e.headed("the breaker of "+args[0]+" is the fleet's again", answer, err)
		},
	}
}

var breakerHeading = []string{"ENDPOINT", "CLASS", "WHERE", "STATE", "ROUND", "LEFT", "WHY"}

func printBreakers(w io.Writer, breakers []*pb.BreakerInfo) {
	if len(breakers) == 0 {
		fmt.Fprintln(w, "every breaker of the fleet is closed")
		return
	}
	rows := [][]string{breakerHeading}
	for _, b := range breakers {
		rows = append(rows, breakerRow(b, 0))
	}
	table(w, rows)
}

// breakerRow is a breaker, so long after it was told.
func breakerRow(b *pb.BreakerInfo, age int64) []string {
	f := b.GetBreaker()
	return []string{
		b.GetEndpoint(), className(f.GetClass()), f.GetLocality(), breakerState(b), number(f.GetRound()), remaining(f, age), breakerWhy(b),
	}
}

// breakerState is what holds; what an operator passes over stands in brackets.
func breakerState(b *pb.BreakerInfo) string {
	state := stateName(b.GetBreaker().GetState())
	switch {
	case b.Forced == nil:
		return state
	case b.Forced.GetOpen():
		return "forced open (" + state + ")"
	}
	return "forced closed (" + state + ")"
}

// breakerWhy is what it opened for, and what that was seen by.
func breakerWhy(b *pb.BreakerInfo) string {
	f := b.GetBreaker()
	var words []string
	if f.GetSoft() {
		words = append(words, "slow")
	}
	if f.GetReason() != "" && !strings.Contains(b.GetEvidence(), f.GetReason()) {
		words = append(words, f.GetReason())
	}
	if b.GetEvidence() != "" {
		words = append(words, b.GetEvidence())
	}
	return strings.Join(words, "; ")
}

func className(c pb.Class) string { return strings.ToLower(strings.TrimPrefix(c.String(), "CLASS_")) }

// remaining is how long a breaker stays as it is, at the most; its times count from when it was told.
func remaining(b *pb.FleetBreaker, age int64) string {
	switch b.GetState() {
	case pb.BreakerState_BREAKER_STATE_OPEN:
		return span(max(0, b.OpenUs-age))
	case pb.BreakerState_BREAKER_STATE_RAMP:
		return span(max(0, b.RampUs-b.RampAgeUs-age))
	}
	return ""
}
