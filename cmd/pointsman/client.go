package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newClient(e *env) *cobra.Command {
	return noun("client", "See the libraries that are connected", newClientList(e))
}

func newClientList(e *env) *cobra.Command {
	var late bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List running libraries and what they run",
		Long: `Lists every library that is connected, and by which agent (VIA; -: itself): the generation that it runs, how long ago it
was heard, and its STATE. ack: it runs what is served; behind: not yet; nack: it refused a generation, and why; cannot run: of
what is served it cannot use one workload.`,
		Example: "  pointsman client list\n  pointsman client list -behind",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := call(cmd.Context(), e, services.ListClients, &pb.ListClientsRequest{Namespace: e.namespace})
			if err != nil {
				return err
			}
			if late {
				answer.Clients = slices.DeleteFunc(answer.Clients, func(c *pb.ClientInfo) bool { return clientWord(c) == inStep })
			}
			return e.print(answer, func(w io.Writer) { e.printListed(w, answer.Clients, late) })
		},
	}
	cmd.Flags().BoolVar(&late, "behind", false, "only those that do not run what is served, or not all of it")
	return cmd
}

func (e *env) printListed(w io.Writer, clients []*pb.ClientInfo, late bool) {
	if late && len(clients) == 0 {
		fmt.Fprintln(w, "every library that is connected runs what is served")
		return
	}
	printClients(w, clients)
}

func printClients(w io.Writer, clients []*pb.ClientInfo) {
	if len(clients) == 0 {
		fmt.Fprintln(w, "no libraries are connected")
		return
	}
	rows := [][]string{{"LEAF", "NODE", "VIA", "LIBRARY", "GENERATION", "AGE", "STATE"}}
	for _, c := range clients {
		s := c.GetState()
		rows = append(rows, []string{
			s.GetLeaf(), s.GetNode(), s.GetVia(), s.GetLibrary() + " " + s.GetLibraryVersion(), number(s.GetVersion().GetGeneration()),
			span(s.GetAgeUs()), clientWord(c),
		})
	}
	table(w, rows)
}

const inStep = "ack" // it runs what is served

// clientWord is what matters most of a leaf's state.
func clientWord(c *pb.ClientInfo) string {
	s := c.GetState()
	switch {
	case s.GetGone():
		return "gone"
	case s.GetNack() != "":
		return fmt.Sprintf("nack %d: %s", s.GetNacked().GetGeneration(), s.GetNack())
	case len(s.GetUnusable()) > 0:
		return fmt.Sprintf("cannot run %s: %s", s.GetUnusable()[0].GetWorkload(), s.GetUnusable()[0].GetReason())
	case c.GetBehind():
		return "behind"
	}
	return inStep
}
