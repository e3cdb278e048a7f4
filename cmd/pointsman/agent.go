package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/agent"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// localAgent stands for the agent that commands ask by default which always ask one.
const localAgent = "local"

func newAgent(e *env) *cobra.Command {
	return e.asksAgent(noun("agent", "See how the agent of a node does", newAgentStatus(e)))
}

func newAgentStatus(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show one agent's parent, leaves, drains and what it measures",
		Long: `Asks one agent, which answers also when the control plane is lost: whether it has a parent, how old what it serves is, what is
drained on its node alone, which libraries are behind it, and what it sees of model servers.`,
		Example: "  pointsman agent status -agent unix:///run/pointsman/agent.sock",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := askNode(cmd.Context(), e, pb.NodeServiceClient.NodeStatus, &pb.NodeStatusRequest{})
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) { printNode(w, answer) })
		},
	}
}

// nodeFlag has a command that asks the control plane ask an agent instead: for what the usage says.
func (e *env) nodeFlag(cmd *cobra.Command, node *string, usage string) {
	cmd.Flags().StringVar(node, "agent", "", usage+" at this `address`: unix:///path, host:port, or local (POINTSMAN_AGENT, else unix://"+agent.DefaultSocket+")")
}

// at is e with the agent that such a flag names.
func (e *env) at(node string) *env {
	here := *e
	if here.agent = node; node == localAgent {
		here.agent = e.lookup("POINTSMAN_AGENT", "unix://"+agent.DefaultSocket)
	}
	return &here
}

// nodeMethod is one of NodeService's calls.
type nodeMethod[Q, A any] = func(pb.NodeServiceClient, context.Context, Q, ...grpc.CallOption) (A, error)

// askNode asks the agent one thing, within the timeout.
func askNode[Q, A any](ctx context.Context, e *env, method nodeMethod[Q, A], question Q) (answer A, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	conn, err := e.connect(e.agent, "an agent", e.tokenFile)
	if err != nil {
		return answer, err
	}
	defer conn.Close()
	answer, err = method(pb.NewNodeServiceClient(conn), ctx, question)
	return answer, e.refusedNode(err)
}

// done says what was done.
func (e *env) done(what string, answer proto.Message, err error) error {
	if err != nil {
		return err
	}
	return e.print(answer, func(w io.Writer) { fmt.Fprintln(w, what) })
}

func printNode(w io.Writer, n *pb.NodeStatusResponse) {
	parent := n.Parent
	if parent == "" {
		parent = "NONE: what is held is served, and ages"
		if n.ParentError != "" {
			parent = "NONE: " + cause(n.ParentError)
		}
	}
	pairs := []string{"node", n.Node, "parent", parent}
	for _, h := range n.Heads {
		name, line := "catalog", fmt.Sprintf("generation %d, confirmed %s ago", h.Generation, span(h.AgeUs))
		if h.Track == pb.Track_TRACK_FLEET {
			name, line = "fleet", fmt.Sprintf("heard %s ago", span(h.AgeUs))
		}
		pairs = append(pairs, name, line)
	}
	fields(w, append(pairs, "serves", leaves(len(n.Leaves)))...)
	for _, p := range []part{
		{"drained on this node alone", "", "", len(n.Drains), func(int) { printOverrides(w, n.Drains) }},
		{"leaves", "", "", len(n.Leaves), func(int) { printLeaves(w, n.Leaves) }},
		{"model servers", "", "", len(n.Engines), func(int) { printEngines(w, n.Engines) }},
		{"addresses", "", "", len(n.Reaches), func(int) { printReaches(w, n.Reaches) }},
	} {
		p.print(w)
	}
}

func printLeaves(w io.Writer, all []*pb.LeafState) {
	var clients []*pb.ClientInfo
	for _, s := range all {
		clients = append(clients, &pb.ClientInfo{State: s})
	}
	printClients(w, clients)
}

func printEngines(w io.Writer, engines []*pb.EngineLoad) {
	rows := [][]string{{"ENDPOINT", "RUNNING", "WAITING", "CACHE IN USE", "PROMPT TOKENS/S", "OUTPUT TOKENS/S"}}
	for _, g := range engines {
		cache := ""
		if g.KvUsed != nil {
			cache = fmt.Sprintf("%.0f %%", 100*g.GetKvUsed())
		}
		rows = append(rows, []string{g.Endpoint, known(g.Running), known(g.Waiting), cache, known(g.PromptTps), known(g.OutputTps)})
	}
	table(w, rows)
}

// known is a figure, and nothing where it is not known.
func known(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.4g", *v)
}

func printReaches(w io.Writer, reaches []*pb.Reach) {
	rows := [][]string{{"ENDPOINT", "REACHED", "CONNECTS IN", "WHY NOT"}}
	for _, r := range reaches {
		yes, in := "NO", ""
		if r.Reached {
			yes, in = "yes", took(r.ConnectUs)
		}
		rows = append(rows, []string{r.Endpoint, yes, in, r.Reason})
	}
	table(w, rows)
}
