package access

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Guest is who a child of the hub is.
type Guest struct {
	Identity string // on whose behalf it sees what it sees
	Node     string // the only node that it may speak for; empty: any
	Relay    bool   // it may speak for leaves
	Replica  bool   // it may have the fleet's state of everything
}

// Join says who a child is, at its hello and again while its stream lives.
func (g *Guard) Join(ctx context.Context, hello *pb.Hello) (Guest, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	c, err := g.admit(ctx, md, syncMethod)
	if err != nil {
		return Guest{}, err
	}
	out := Guest{Identity: c.Identity, Node: c.node, Relay: May(c.Role, Agent), Replica: May(c.Role, Replica)}
	switch {
	case hello.GetRelay() && !out.Relay:
		err = status.Errorf(codes.PermissionDenied, "%s has role %s, and a relay needs %s: an admin gives it with `pointsman role grant %s %s`", c.Identity, c.Role, Agent, c.Identity, Agent)
	case out.Node != "" && hello.GetRelay() && hello.GetNode() != out.Node:
		err = status.Errorf(codes.PermissionDenied, "%s may speak for node %q, and says it is %.64q: start it with -node %s, or give it that node with `pointsman role grant %s %s -node NAME`",
			c.Identity, out.Node, hello.GetNode(), out.Node, c.Identity, c.Role)
	}
	if err != nil {
		g.denied.add(c.Identity, syncMethod, err)
		return Guest{}, err
	}
	return out, nil
}
