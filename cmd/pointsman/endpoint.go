package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newEndpoint(e *env) *cobra.Command {
	return noun("endpoint", "See endpoints, and take them out of service",
		newEndpointList(e), newEndpointDrain(e), newEndpointUndrain(e), newEndpointWeight(e), newEndpointUnweight(e))
}

func newEndpointList(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List endpoints with what the fleet knows of them",
		Long: `Lists endpoints, each before its instances. SPEED is relative to the pool (1: as fast as it), IN FLIGHT the fleet's
requests, NODES how many use it, AGE how old that knowledge is (what is stale counts for no load and no speed), REACHED how
many agents' probes found it.`,
		Example: "  pointsman endpoint list",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := call(cmd.Context(), e, services.ListEndpoints, &pb.ListEndpointsRequest{Namespace: e.namespace})
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) { printEndpoints(w, answer.Endpoints) })
		},
	}
}

func printEndpoints(w io.Writer, endpoints []*pb.EndpointInfo) {
	if len(endpoints) == 0 {
		fmt.Fprintln(w, "no endpoints: publish a catalog with `pointsman catalog publish DIR`")
		return
	}
	rows := [][]string{{"ENDPOINT", "PROVIDER", "MODEL", "REGION", "BREAKER", "OVERRIDE", "SPEED", "IN FLIGHT", "NODES", "AGE", "REACHED"}}
	for _, p := range endpoints {
		rows = append(rows, []string{
			p.Name, p.Provider, p.Model, p.Region, breakerWord(p.GetFleet().GetBreakers()), overrideWords(p.Overrides),
			speedWord(p.Speed), inFlight(p.GetFleet()), number(p.Witnesses), age(p.GetFleet(), p.FleetAgeUs), reached(p),
		})
	}
	table(w, rows)
}

// breakerWord is the state furthest from closed, and how many there are.
func breakerWord(breakers []*pb.FleetBreaker) string {
	counts := map[pb.BreakerState]int{}
	for _, b := range breakers {
		counts[b.State]++
	}
	var words []string
	for _, s := range []pb.BreakerState{pb.BreakerState_BREAKER_STATE_OPEN, pb.BreakerState_BREAKER_STATE_HALF_OPEN, pb.BreakerState_BREAKER_STATE_RAMP} {
		if counts[s] > 0 {
			words = append(words, stateName(s))
		}
	}
	if len(words) == 0 {
		return "closed"
	}
	return strings.Join(words, ", ")
}

func stateName(s pb.BreakerState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "BREAKER_STATE_"))
}

func overrideWords(overrides []*pb.Override) string {
	var words []string
	for _, o := range overrides {
		words = append(words, overrideWord(o))
	}
	return strings.Join(words, ", ")
}

func overrideWord(o *pb.Override) string {
	switch what := o.What.(type) {
	case *pb.Override_Drain:
		return "drained"
	case *pb.Override_Breaker:
		if what.Breaker.GetOpen() {
			return "forced open"
		}
		return "forced closed"
	case *pb.Override_Weight:
		return fmt.Sprintf("weight %d", what.Weight)
	}
	return "unknown"
}

func speedWord(speed float64) string {
	if speed == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", speed)
}

func inFlight(row *pb.FleetEndpoint) string {
	if len(row.GetLoads()) == 0 {
		return ""
	}
	var sum uint64
	for _, l := range row.GetLoads() {
		sum += l.InFlight
	}
	return fmt.Sprint(sum)
}

// reached is how many nodes' probes found it, of all that looked, and why others did not.
func reached(p *pb.EndpointInfo) string {
	switch {
	case p.Reached+p.Unreached == 0:
		return ""
	case p.Unreached == 0:
		return fmt.Sprint(p.Reached)
	}
	return strings.TrimSpace(fmt.Sprintf("%d of %d %s", p.Reached, p.Reached+p.Unreached, p.UnreachedReason))
}

const staleUs = 30_000_000 // protocol.md, rule 1

// age is nothing where nothing is known.
func age(row *pb.FleetEndpoint, us int64) string {
	switch {
	case row == nil:
		return ""
	case us >= staleUs:
		return span(us) + ", stale"
	}
	return span(us)
}
