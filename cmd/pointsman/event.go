package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newEvent(e *env) *cobra.Command {
	return e.asksAgent(noun("event", "See what changed in the libraries", newEventList(e)))
}

func newEventList(e *env) *cobra.Command {
	var c choice
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List events, and follow them",
		Long: `Lists the events of the libraries behind an agent, one a line, the oldest first: breakers that opened, quotas that pause,
catalogs that came, links that were lost. docs/operating.md says what each kind means. The agent keeps the newest of them.`,
		Example: `  pointsman event list -since 1h
  pointsman event list -follow -kind opened`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := c.asked(cmd, pb.RecordKind_RECORD_KIND_EVENT)
			if err != nil {
				return err
			}
			return e.lines(cmd.Context(), q, eventHeading, eventLine)
		},
	}
	c.flags(e, cmd, 50)
	cmd.Flags().StringVar(&c.query.Outcome, "kind", "", "only of this kind")
	e.completeFlag(cmd, "kind", completeEvents)
	return cmd
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

func completeEvents(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{"source", "unusable", "link_connected", "link_lost"}
	for k := route.EventOpened; k.String() != "unknown"; k++ {
		names = append(names, k.String())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
