package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/controlplane/rpc"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func (w *world) Drain(_ context.Context, q *pb.DrainRequest) (*pb.DrainResponse, error) {
	if !slices.ContainsFunc(w.endpoints(), func(p *pb.EndpointInfo) bool { return p.Name == q.Endpoint }) {
		return nil, status.Errorf(codes.NotFound, "no endpoint %q", q.Endpoint)
	}
	if !q.Force && len(w.overrides)+1 == len(w.endpoints()) {
		return nil, precondFailed(rpc.ReasonStrands, "workload chat is left with nothing")
	}
	w.override(&pb.Override{
		Endpoint: q.Endpoint, What: &pb.Override_Drain{Drain: &pb.Drain{}}, Actor: q.Actor, Reason: q.Reason, DurationUs: q.DurationUs,
	})
	return &pb.DrainResponse{Head: w.step(q.Actor, q.Reason)}, nil
}

// override is in the place of another of its kind.
func (w *world) override(o *pb.Override) {
	w.overrides = append(slices.DeleteFunc(w.overrides, sameKind(o.Endpoint, kindOf(o))), o)
}

func sameKind(endpoint, kind string) func(*pb.Override) bool {
	return func(o *pb.Override) bool { return o.Endpoint == endpoint && kindOf(o) == kind }
}

func kindOf(o *pb.Override) string {
	switch o.What.(type) {
	case *pb.Override_Breaker:
		return "breaker"
	case *pb.Override_Weight:
		return "weight"
	}
	return "drain"
}

func (w *world) SetOverride(_ context.Context, q *pb.SetOverrideRequest) (*pb.SetOverrideResponse, error) {
	o := q.Override
	if !slices.ContainsFunc(w.endpoints(), func(p *pb.EndpointInfo) bool { return p.Name == o.Endpoint }) {
		return nil, status.Errorf(codes.NotFound, "no endpoint %q", o.Endpoint)
	}
	if weight, ok := o.What.(*pb.Override_Weight); ok && weight.Weight == 0 && !q.Force {
		return nil, precondFailed(rpc.ReasonStrands, "workload chat is left with nothing")
	}
	w.override(o)
	return &pb.SetOverrideResponse{Head: w.step(o.Actor, o.Reason)}, nil
}

func (w *world) RemoveOverride(_ context.Context, q *pb.RemoveOverrideRequest) (*pb.RemoveOverrideResponse, error) {
	n := len(w.overrides)
	if w.overrides = slices.DeleteFunc(w.overrides, sameKind(q.Endpoint, q.Kind)); len(w.overrides) == n {
		return nil, status.Errorf(codes.NotFound, "endpoint %q has no %s", q.Endpoint, q.Kind)
	}
	return &pb.RemoveOverrideResponse{Head: w.step("ada", "")}, nil
}

// breakers are what the fleet and operators say of endpoints.
func (w *world) breakers() []*pb.BreakerInfo {
	var out []*pb.BreakerInfo
	for _, p := range w.endpoints() {
		all := rpc.BreakersOf(p)
		for _, o := range p.Overrides {
			if o.GetBreaker() == nil {
				continue
			}
			if len(all) == 0 {
				all = []*pb.BreakerInfo{{Endpoint: p.Name, Breaker: &pb.FleetBreaker{Class: pb.Class_CLASS_ANY, State: pb.BreakerState_BREAKER_STATE_CLOSED}}}
			}
			all[0].Forced, all[0].Evidence = o.GetBreaker(), "by "+o.Actor+": "+o.Reason
		}
		out = append(out, all...)
	}
	return out
}

// WatchBreakers tells what is, and ends.
func (w *world) WatchBreakers(_ *pb.WatchBreakersRequest, stream pb.FleetService_WatchBreakersServer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range slices.DeleteFunc(w.breakers(), isClosed) {
		at := timestamppb.New(time.Date(2026, 12, 1, 3, 4, 5, 0, time.UTC))
		if err := stream.Send(&pb.WatchBreakersResponse{Breaker: b, Time: at}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) ListBreakers(_ context.Context, q *pb.ListBreakersRequest) (*pb.ListBreakersResponse, error) {
	all := w.breakers()
	if !q.All {
		all = slices.DeleteFunc(all, isClosed)
	}
	return &pb.ListBreakersResponse{Breakers: all}, nil
}

func (w *world) Undrain(_ context.Context, q *pb.UndrainRequest) (*pb.UndrainResponse, error) {
	w.overrides = slices.DeleteFunc(w.overrides, sameKind(q.Endpoint, "drain"))
	return &pb.UndrainResponse{Head: w.step(q.Actor, "")}, nil
}

// endpoints are those that are served; of gpu-b the fleet says that its breaker is open.
func (w *world) endpoints() []*pb.EndpointInfo {
	var all []*pb.EndpointInfo
	for _, r := range w.resources(w.head.Serving) {
		if r.Kind != pb.Kind_KIND_ENDPOINT {
			continue
		}
		p := &pb.EndpointInfo{
			Name: r.Name, Provider: r.Name, Model: "qwen-7b", Region: "eu/west", Witnesses: 3, FleetAgeUs: 400_000, Speed: 1.25, Reached: 2,
			Fleet: &pb.FleetEndpoint{Speed: 1.25, Loads: []*pb.FleetLoad{{InFlight: 3}, {Locality: "eu", InFlight: 4}}},
		}
		if r.Name == "gpu-b" {
			p.Reached, p.Unreached, p.UnreachedReason = 1, 1, "connection refused"
			p.Evidence = []string{"any, round 7: 3 of 3 nodes, 20 of 20 failed"}
			p.Fleet.Breakers = []*pb.FleetBreaker{
				{State: pb.BreakerState_BREAKER_STATE_OPEN, Class: pb.Class_CLASS_ANY, Round: 7, OpenUs: 5_000_000, Reason: "server errors"},
				{State: pb.BreakerState_BREAKER_STATE_CLOSED, Class: pb.Class_CLASS_TOOLS},
			}
		}
		for _, o := range w.overrides {
			if o.Endpoint == r.Name {
				p.Overrides = append(p.Overrides, o)
			}
		}
		all = append(all, p)
	}
	return all
}

func (w *world) ListEndpoints(context.Context, *pb.ListEndpointsRequest) (*pb.ListEndpointsResponse, error) {
	return &pb.ListEndpointsResponse{Endpoints: w.endpoints()}, nil
}

// clients are one that runs the head, one that refused it, and one that cannot run a workload.
func (w *world) clients() []*pb.ClientInfo {
	leaf := func(name string, generation uint64) *pb.LeafState {
		return &pb.LeafState{
			Leaf: name, Node: "node-1", Library: "go", LibraryVersion: "0.1", AgeUs: 2_300_000,
			Version: &pb.Version{Generation: generation},
		}
	}
	nacked, partial := leaf("chat-2", w.head.Generation-1), leaf("chat-3", w.head.Generation)
	nacked.Nack, nacked.Nacked = "endpoint gpu-a: weight is -1", &pb.Version{Generation: w.head.Generation}
	partial.Unusable = []*pb.Unusable{{Workload: "chat", Reason: "unknown strategy"}}
	nacked.Via = "node-1-agent"
	return []*pb.ClientInfo{{State: leaf("chat-1", w.head.Generation)}, {State: nacked, Behind: true}, {State: partial}}
}

func (w *world) ListClients(context.Context, *pb.ListClientsRequest) (*pb.ListClientsResponse, error) {
	if w.head.Generation == 0 {
		return &pb.ListClientsResponse{}, nil
	}
	return &pb.ListClientsResponse{Clients: w.clients()}, nil
}

func (w *world) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	answer := &pb.StatusResponse{
		Head: w.head, StoreReachable: true, HeadAgeUs: 800_000, Term: 12, ServerVersion: "0.1",
		Endpoints: uint32(len(w.endpoints())), Overrides: w.overrides,
		Leader: &pb.Leader{Replica: "cp-2", Address: "10.0.0.2:7400", Term: 12, Since: timestamppb.New(time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC))},
	}
	if w.head.Generation > 1 {
		answer.Alarms = []string{"store_regressed: two identities hold more than head"}
		answer.Spent = []*pb.SpentQuota{{Quota: "cloud-rpm", RemainingUs: 12_000_000, Leaves: 4}}
		answer.Shedding = []*pb.SheddingWorkload{{Workload: "chat", Reason: "limited", PerSecond: 3.25, Leaves: 2}}
	}
	if w.head.Generation > 0 {
		answer.Workloads, answer.Leaves, answer.Nodes, answer.Behind = 1, 3, 1, w.clients()[1:2]
	}
	for _, p := range w.endpoints() {
		if len(p.Fleet.Breakers) > 0 {
			answer.Open = append(answer.Open, p)
		}
	}
	return answer, nil
}

func (w *world) Explain(_ context.Context, q *pb.ExplainRequest) (*pb.ExplainResponse, error) {
	answer := &pb.ExplainResponse{Generation: w.head.Generation, Revision: w.head.Serving, Strategy: "p2c@1", FleetOnly: q.Client == ""}
	if q.Client != "" && q.Client != "chat-1" {
		return nil, status.Errorf(codes.NotFound, "no leaf %q is connected", q.Client)
	}
	for _, p := range w.endpoints() {
		c := &pb.Candidate{Endpoint: p.Name, Tier: "primary", RowAgeUs: 400_000, SampleAgeUs: -1}
		if q.Client != "" {
			c.SampleAgeUs, c.Samples = 1_200_000, 64
		}
		switch {
		case len(p.Overrides) > 0:
			c.Reason = "drained"
		case slices.Contains(q.Needs, "vision"):
			c.Reason = "capability"
		case len(p.Fleet.Breakers) > 0:
			c.Reason = "breaker_open"
		default:
			c.Share, c.Score = 1, 1234.5
		}
		answer.Candidates = append(answer.Candidates, c)
	}
	if !slices.ContainsFunc(answer.Candidates, func(c *pb.Candidate) bool { return c.Reason == "" }) {
		answer.Shed = fmt.Sprintf("workload %q: shed", q.Workload)
	}
	return answer, nil
}
