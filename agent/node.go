package agent

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const mostText = 1000 // bytes of a reason, or of an actor's name

// nodeService is for the operator on this node.
type nodeService struct {
	pb.UnimplementedNodeServiceServer
	agent *Agent
}

// DrainNode takes an endpoint out of every pool of this node. It is no control plane's word: it
// ends by itself, in four hours at most.
func (s nodeService) DrainNode(ctx context.Context, q *pb.DrainNodeRequest) (*pb.DrainNodeResponse, error) {
	a, last := s.agent, time.Duration(q.DurationUs)*time.Microsecond
	switch {
	case q.DurationUs < 0 || q.DurationUs > mostDrain.Microseconds():
		return nil, status.Errorf(codes.InvalidArgument, "duration_us: %d, want 0 to %d: a node drains for %v at most", q.DurationUs, mostDrain.Microseconds(), mostDrain)
	case len(q.Reason) > mostText || len(q.Actor) > mostText:
		return nil, status.Errorf(codes.InvalidArgument, "reason, actor: want at most %d bytes each", mostText)
	case last == 0:
		last = mostDrain
	}
	if !a.relay.shelf.has(q.Endpoint) {
		return nil, status.Errorf(codes.NotFound, "no program on this node may use an endpoint %q: `agent status` lists what it sees", q.Endpoint)
	}
	actor := cert.Actor(cert.PeerOf(ctx).Identity, q.Actor)
	unkept, err := a.relay.shelf.drains.set(drain{Endpoint: q.Endpoint, Actor: actor, Reason: q.Reason}, last)
	if err != nil {
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	}
	a.log.Warn("drained on this node", "endpoint", q.Endpoint, "for", last, "actor", actor, "reason", q.Reason)
	a.drained(unkept)
	return &pb.DrainNodeResponse{}, nil
}

// UndrainNode ends a drain of this node. Those of the control plane are not this node's to end.
func (s nodeService) UndrainNode(_ context.Context, q *pb.UndrainNodeRequest) (*pb.UndrainNodeResponse, error) {
	unkept, had := s.agent.relay.shelf.drains.unset(q.Endpoint)
	if !had {
		return nil, status.Errorf(codes.NotFound, "endpoint %q is not drained by this node: a drain of the whole fleet ends with `endpoint undrain`", q.Endpoint)
	}
	s.agent.log.Info("drained no more on this node", "endpoint", q.Endpoint)
	s.agent.drained(unkept)
	return &pb.UndrainNodeResponse{}, nil
}

// drained serves what the drains changed; they hold though they could not be kept.
func (a *Agent) drained(unkept error) {
	a.relay.shelf.again()
	if unkept != nil {
		a.log.Error("this node's drains are not on disk, and end with this process", "dir", a.config.Dir, "error", unkept)
	}
}

// NodeStatus is what this node knows when nobody else is there to ask.
func (s nodeService) NodeStatus(context.Context, *pb.NodeStatusRequest) (*pb.NodeStatusResponse, error) {
	a := s.agent
	link := a.relay.link.Status()
	m := &pb.NodeStatusResponse{Node: a.config.Node, Heads: link.Heads, Leaves: a.relay.hub.Leaves()}
	if link.Connected {
		m.Parent = link.Parent
	}
	if link.Err != nil {
		m.ParentError = link.Err.Error()
	}
	now := a.relay.now()
	for _, d := range a.relay.shelf.drains.list() {
		o := d.override()
		o.DurationUs = d.until - now
		m.Drains = append(m.Drains, o)
	}
	for _, l := range a.witness.reader.Loads() {
		m.Engines = append(m.Engines, wire.EncodeEngineLoad(&l.EngineLoad))
	}
	for _, r := range a.witness.reached() {
		m.Reaches = append(m.Reaches, wire.EncodeReach(&r))
	}
	return m, nil
}
