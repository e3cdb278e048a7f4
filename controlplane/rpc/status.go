package rpc

import (
	"context"
	"slices"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Status says how the fleet does, also while etcd is away: as the leader knows it, beside what this
// replica knows of itself.
func (s *fleetService) Status(ctx context.Context, r *pb.StatusRequest) (*pb.StatusResponse, error) {
	live, err := s.live(r.GetNamespace())
	if err != nil {
		return nil, err
	}
	told, asked, err := led(ctx, s, pb.FleetServiceClient.Status, r)
	switch {
	case asked && err != nil:
		return nil, err
	case asked:
		return s.withOwn(told, live), nil
	}
	out := s.status(live)
	if err != nil {
		out.Alarms = append(out.Alarms, err.Error())
	}
	return out, nil
}

// own is what this replica says of itself.
func (s *fleetService) own(out *pb.StatusResponse, live Live) {
	out.StoreReachable, out.HeadAgeUs = live.Away == nil, time.Since(live.Confirmed).Microseconds()
	out.Leads, out.ServerVersion = live.Leads, s.Version
}

// withOwn puts what this replica says of itself into what the leader told.
func (s *fleetService) withOwn(told *pb.StatusResponse, live Live) *pb.StatusResponse {
	s.own(told, live)
	if live.Head.GetEpoch() == told.GetHead().GetEpoch() && live.Head.GetGeneration() > told.GetHead().GetGeneration() {
		told.Head = live.Head
	}
	for _, alarm := range live.Alarms {
		if !slices.Contains(told.Alarms, alarm) {
			told.Alarms = append(told.Alarms, alarm)
		}
	}
	return told
}

// status is all that this replica knows.
func (s *fleetService) status(live Live) *pb.StatusResponse {
	out := &pb.StatusResponse{
		Head: live.Head, Overrides: standing(live.Overrides), Term: live.Term, Leader: live.Leader,
		Alarms: slices.Clone(live.Alarms), Spent: live.Spent, Shedding: live.Shedding,
	}
	s.own(out, live)
	s.count(out, live)
	endpoints := s.endpoints(live)
	for _, e := range endpoints {
		if notClosed(e.GetFleet()) {
			out.Open = append(out.Open, e)
		}
	}
	for k := range live.Catalog.All() {
		switch k.Kind {
		case pb.Kind_KIND_ENDPOINT:
			out.Endpoints++
		case pb.Kind_KIND_WORKLOAD:
			out.Workloads++
		}
	}
	return out
}

// count counts the leaves that are there, and names those that do not run head, or not all of it.
func (s *fleetService) count(out *pb.StatusResponse, live Live) {
	nodes := map[string]bool{}
	for _, c := range s.clients(live) {
		if c.GetState().GetGone() {
			continue
		}
		out.Leaves++
		nodes[c.GetState().GetNode()] = true
		if c.GetBehind() || len(c.GetState().GetUnusable()) > 0 {
			out.Behind = append(out.Behind, c)
		}
	}
	out.Nodes = uint32(len(nodes))
}
