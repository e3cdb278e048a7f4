package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newClient(e *env) *cobra.Command {
	return noun("client", "See the libraries that are connected", newClientList(e))
}

func newClientList(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List running libraries and what they run",
		Long: `Lists every library that is connected, directly or behind an agent: the generation that it runs, whether it refused
one and why, and when it was last heard.`,
		Example: "  pointsman client list",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := call(cmd.Context(), e, services.ListClients, &pb.ListClientsRequest{Namespace: e.namespace})
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) { printClients(w, answer.Clients) })
		},
	}
}

func printClients(w io.Writer, clients []*pb.ClientInfo) {
	if len(clients) == 0 {
		fmt.Fprintln(w, "no libraries are connected")
		return
	}
	rows := [][]string{{"LEAF", "NODE", "LIBRARY", "GENERATION", "AGE", "STATE"}}
	for _, c := range clients {
		s := c.GetState()
		rows = append(rows, []string{
			s.GetLeaf(), s.GetNode(), s.GetLibrary() + " " + s.GetLibraryVersion(), number(s.GetVersion().GetGeneration()),
			span(s.GetAgeUs()), clientWord(c),
		})
	}
	table(w, rows)
}

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
	return "ack"
}
