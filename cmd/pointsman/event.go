package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/uplink"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const fleetEventsSince = 24 * time.Hour // without -since

func newEvent(e *env) *cobra.Command {
	return noun("event", "See what happened to the fleet, or in the libraries of one node", newEventList(e))
}

func newEventList(e *env) *cobra.Command {
	var c choice
	var node string
	var kinds []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List events, and follow them",
		Long: `Lists what happened to the fleet, one a line, the oldest first, with the evidence: breakers that opened and closed, endpoints
that are limited or spill, leaders that came. The control plane keeps them for 72h; without -since it lists those of 24h.

With -agent it lists the events of the libraries behind an agent instead, which keeps the newest of them: breakers of one
process, quotas that pause, catalogs that came, links that were lost. docs/operating.md says what each kind means.

With -json each line is a FleetEvent, or with -agent a Record.`,
		Example: `  pointsman event list -since 72h -kind opened,closed
  pointsman event list -follow -endpoint gpu-b
  pointsman event list -agent local -since 1h -kind opened`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkKinds(cmd, kinds, node); err != nil {
				return err
			}
			if node != "" {
				return e.at(node).agentEvents(cmd, &c, kinds)
			}
			return e.fleetEvents(cmd, &c, kinds)
		},
	}
	c.flags(e, cmd, 50)
	for _, name := range ofAgentsOnly {
		cmd.Flags().Lookup(name).Usage += "; with -agent"
	}
	e.nodeFlag(cmd, &node, "list the events of the libraries behind the agent")
	cmd.Flags().StringSliceVar(&kinds, "kind", nil, "only of these `kinds`")
	e.completeFlag(cmd, "kind", completeEvents)
	return cmd
}

// agentEvents lists those of the libraries behind an agent.
func (e *env) agentEvents(cmd *cobra.Command, c *choice, kinds []string) error {
	if len(kinds) > 1 {
		return usagef(cmd, "-kind %s: an agent is asked for one kind, or for all", strings.Join(kinds, ","))
	}
	c.query.Outcome = strings.Join(kinds, "")
	q, err := c.asked(cmd, pb.RecordKind_RECORD_KIND_EVENT)
	if err != nil {
		return err
	}
	return e.lines(cmd.Context(), q, eventHeading, eventLine)
}

// ofAgentsOnly are the flags that choose among what the fleet's events do not have.
var ofAgentsOnly = []string{"n", "workload", "leaf"}

// fleetEvents lists the control plane's. What it follows goes on where it was when the control plane comes back.
func (e *env) fleetEvents(cmd *cobra.Command, c *choice, kinds []string) error {
	for _, name := range ofAgentsOnly {
		if cmd.Flags().Changed(name) {
			return usagef(cmd, "-%s chooses among the events of libraries: say with -agent whose", name)
		}
	}
	if _, err := c.asked(cmd, pb.RecordKind_RECORD_KIND_EVENT); err != nil {
		return err
	}
	if c.since == 0 {
		c.since = fleetEventsSince
	}
	q := &pb.ListEventsRequest{
		Namespace: e.namespace, Since: timestamppb.New(time.Now().Add(-c.since)), Kinds: kinds, Endpoint: c.query.Endpoint, Follow: c.query.Follow,
	}
	l, last := liner{env: e, heading: fleetEventHeading}, uint64(0)
	take := streaming[pb.ListEventsResponse]{follow: q.Follow}
	take.open = func(ctx context.Context, s services) (grpc.ServerStreamingClient[pb.ListEventsResponse], error) {
		return s.ListEvents(ctx, q)
	}
	take.each = func(m *pb.ListEventsResponse) error {
		ev := m.GetEvent()
		if ev.GetNumber() != 0 && ev.GetNumber() <= last { // told before the control plane went away
			return nil
		}
		q.Since, last = ev.GetTime(), ev.GetNumber()
		return l.print(ev, fleetEventLine(ev))
	}
	if q.Follow {
		return e.again(cmd.Context(), e.away, func() (bool, error) { return streamOnce(cmd.Context(), e, take) })
	}
	err := stream(cmd.Context(), e, take)
	if err == nil && l.printed == 0 && !e.json {
		fmt.Fprintf(e.stdout, "no such event in the last %s\n", span(c.since.Microseconds()))
	}
	return err
}

var (
	fleetEventWidths  = []int{24, 12, 18, 6, 10, 5}
	fleetEventHeading = columns(fleetEventWidths, "TIME", "KIND", "ENDPOINT", "CLASS", "WHERE", "ROUND", "WHY")
)

func fleetEventLine(ev *pb.FleetEvent) string {
	class := ""
	if ev.GetClass() != pb.Class_CLASS_UNSPECIFIED {
		class = className(ev.GetClass())
	}
	return columns(fleetEventWidths, instant(ev.GetTime().AsTime().UnixMicro()), ev.GetKind(), ev.GetEndpoint(), class, ev.GetLocality(),
		number(ev.GetRound()), fleetEventWhy(ev))
}

// fleetEventWhy is whom an event is about beside an endpoint, and its evidence.
func fleetEventWhy(ev *pb.FleetEvent) string {
	var words []string
	if ev.GetName() != "" {
		words = append(words, ev.GetName())
	}
	if ev.GetSoft() {
		words = append(words, "slow")
	}
	if ev.GetEvidence() != "" {
		words = append(words, ev.GetEvidence())
	}
	return strings.Join(words, "; ")
}

var (
	eventWidths  = []int{24, 7, 14, 14, 14, 24}
	eventHeading = columns(eventWidths, "TIME", "ID", "KIND", "WORKLOAD", "ENDPOINT", "LEAF", "DETAIL")
)

func eventLine(r *pb.Record) string {
	ev := r.GetEvent()
	return columns(eventWidths, instant(r.TimeUs), number(r.Id), ev.GetKind(), ev.GetWorkload(), ev.GetEndpoint(), r.Leaf, eventDetail(ev))
}

// eventDetail is what an event says beside its kind and whom it is about.
func eventDetail(ev *pb.Event) string {
	var words []string
	add := func(name, value string) {
		if value != "" {
			words = append(words, strings.TrimSpace(name+" "+value))
		}
	}
	add("", ev.GetName())
	add("class", ev.GetClass())
	add("", ev.GetReason())
	if ev.GetUntilUs() != 0 {
		add("until", instant(ev.UntilUs))
	}
	if ev.GetCount() != 0 {
		add("count", fmt.Sprint(ev.Count))
	}
	add("", ev.GetError())
	return strings.Join(words, ", ")
}

// completeEvents gives the kinds of the fleet's events, or of libraries'.
func completeEvents(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	node, _ := cmd.Flags().GetString("agent")
	return eventKinds(node), cobra.ShellCompDirectiveNoFileComp
}

// eventKinds are those of the fleet's events, or of the libraries' behind an agent.
func eventKinds(node string) []string {
	if node == "" {
		return []string{"opened", "half_opened", "ramping", "closed", "limited", "spilling", "leader", "alarm"}
	}
	names := []string{"source", "unusable"}
	for k := uplink.Connected; k.String() != "unknown"; k++ {
		names = append(names, "link_"+k.String())
	}
	for k := route.EventOpened; k.String() != "unknown"; k++ {
		names = append(names, k.String())
	}
	return names
}

// checkKinds refuses what no event is: nothing would be listed, as if nothing had happened.
func checkKinds(cmd *cobra.Command, kinds []string, node string) error {
	known, whose := eventKinds(node), "the fleet's events are (those of libraries are listed with -agent)"
	if node != "" {
		whose = "the events of libraries are (those of the fleet are listed without an agent)"
	}
	for _, kind := range kinds {
		if !slices.Contains(known, kind) {
			return usagef(cmd, "-kind %s: no such kind: %s %s", kind, whose, strings.Join(known, ", "))
		}
	}
	return nil
}
