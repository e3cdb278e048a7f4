package access

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/agent/hub"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Join says who a child is, at its hello and again while its stream lives.
func (g *Guard) Join(ctx context.Context, hello *pb.Hello) (hub.Guest, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	c, err := g.admit(ctx, md, syncMethod)
	if err != nil && c.Identity != "" && hello.GetRelay() { // known, and without the role: a client's would not do
		return hub.Guest{}, noRelay(c)
	}
	if err != nil {
		return hub.Guest{}, err
	}
	out := hub.Guest{Identity: c.Identity, Node: c.node, Relay: May(c.Role, Agent), Replica: May(c.Role, Replica)}
	switch {
	case hello.GetRelay() && !out.Relay:
		err = noRelay(c)
	case out.Node != "" && hello.GetRelay() && hello.GetNode() != out.Node:
		err = status.Errorf(codes.PermissionDenied, "%s may speak for node %q, and says it is %.64q: start it with -node %s, or give it that node with `pointsman role grant %s %s -node NAME`",
			c.Identity, out.Node, hello.GetNode(), out.Node, c.Identity, c.Role)
	}
	if err != nil {
		g.denied.add(c.Identity, syncMethod, err)
		return hub.Guest{}, err
	}
	return out, nil
}

func noRelay(c Caller) error {
	return status.Errorf(codes.PermissionDenied, "%s has %s, and a relay needs %s: an admin gives it with `pointsman role grant %s %s`",
		c.Identity, c.has(), Agent, c.Identity, Agent)
}
