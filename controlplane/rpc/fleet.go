package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

type fleetService struct {
	pb.UnimplementedFleetServiceServer
	Config
}

// live is what is served, if this replica serves the namespace.
func (s *fleetService) live(name string) (Live, error) {
	if ns := namespace(name); ns != s.Namespace {
		return Live{}, status.Errorf(codes.NotFound, "namespace %q is not served here, %q is", ns, s.Namespace)
	}
	live := s.Live()
	if live.Head == nil {
		return live, status.Error(codes.Unavailable, "not ready: etcd was not reached yet")
	}
	return live, nil
}

// Status says how the fleet does, also while etcd is away.
func (s *fleetService) Status(_ context.Context, r *pb.StatusRequest) (*pb.StatusResponse, error) {
	live, err := s.live(r.GetNamespace())
	if err != nil {
		return nil, err
	}
	out := &pb.StatusResponse{
		Head: live.Head, StoreReachable: live.Away == nil, HeadAgeUs: time.Since(live.Confirmed).Microseconds(),
		Overrides: standing(live.Overrides), Term: live.Term, ServerVersion: s.Version,
	}
	nodes := map[string]bool{}
	for _, c := range s.clients(live) {
		if c.GetState().GetGone() {
			continue
		}
		out.Leaves++
		nodes[c.GetState().GetNode()] = true
		if c.GetBehind() {
			out.Behind = append(out.Behind, c)
		}
	}
	out.Nodes = uint32(len(nodes))
	endpoints := s.endpoints(live)
	out.Endpoints = uint32(len(endpoints))
	for _, e := range endpoints {
		if notClosed(e.GetFleet()) {
			out.Open = append(out.Open, e)
		}
	}
	for k := range live.Catalog.All() {
		if k.Kind == pb.Kind_KIND_WORKLOAD {
			out.Workloads++
		}
	}
	return out, nil
}

// ListEndpoints lists what the served catalog has, with what the fleet knows of each.
func (s *fleetService) ListEndpoints(_ context.Context, r *pb.ListEndpointsRequest) (*pb.ListEndpointsResponse, error) {
	live, err := s.live(r.GetNamespace())
	return &pb.ListEndpointsResponse{Endpoints: s.endpoints(live)}, err
}

// ListClients lists the leaves known here, direct or behind agents.
func (s *fleetService) ListClients(_ context.Context, r *pb.ListClientsRequest) (*pb.ListClientsResponse, error) {
	live, err := s.live(r.GetNamespace())
	if err != nil {
		return nil, err
	}
	return &pb.ListClientsResponse{Clients: s.clients(live)}, nil
}

func (s *fleetService) clients(live Live) []*pb.ClientInfo {
	var out []*pb.ClientInfo
	for _, l := range s.Leaves() {
		out = append(out, &pb.ClientInfo{State: l, Behind: behind(l.GetVersion(), live.Head)})
	}
	return out
}

// behind says whether a leaf does not run head.
func behind(v *pb.Version, head *pb.Head) bool {
	return v.GetStoreId() != head.GetStoreId() || v.GetEpoch() != head.GetEpoch() || v.GetGeneration() != head.GetGeneration()
}

// endpoints are in order of name. A body that does not decode is shown by its name.
func (s *fleetService) endpoints(live Live) []*pb.EndpointInfo {
	overrides := map[string][]*pb.Override{}
	for _, o := range standing(live.Overrides) {
		overrides[o.GetEndpoint()] = append(overrides[o.GetEndpoint()], o)
	}
	var out []*pb.EndpointInfo
	for k, entry := range live.Catalog.All() {
		if k.Kind != pb.Kind_KIND_ENDPOINT {
			continue
		}
		e := &pb.Endpoint{}
		_ = proto.Unmarshal(entry.Body, e) // what cannot be read stays empty
		info := &pb.EndpointInfo{
			Name: k.Name, Identity: e.GetIdentity(), Provider: e.GetProvider(), Model: e.GetModel(), Region: e.GetRegion(),
			Overrides: overrides[k.Name], Evidence: live.Evidence[k.Name], Witnesses: live.Witnesses[k.Name],
		}
		s.learned(live, info)
		out = append(out, info)
	}
	return out
}

// learned adds the fleet's row.
func (s *fleetService) learned(live Live, info *pb.EndpointInfo) {
	row, ok := live.Fleet.Lookup(wire.Key{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: info.GetName()})
	known := &pb.FleetEndpoint{}
	if !ok || proto.Unmarshal(row.Body, known) != nil || known.GetIdentity() != info.GetIdentity() {
		return
	}
	info.Fleet, info.FleetAgeUs = known, max(0, s.Now()-row.At)
}

func notClosed(f *pb.FleetEndpoint) bool {
	for _, b := range f.GetBreakers() {
		if b.GetState() != pb.BreakerState_BREAKER_STATE_CLOSED {
			return true
		}
	}
	return false
}

// standing are the overrides that have not run out, with the time that each still holds.
func standing(all []*pb.StoredOverride) []*pb.Override {
	var out []*pb.Override
	for _, o := range all {
		left := proto.CloneOf(o.GetOverride())
		if o.Until != nil {
			if left.DurationUs = time.Until(o.GetUntil().AsTime()).Microseconds(); left.DurationUs <= 0 {
				continue
			}
		}
		out = append(out, left)
	}
	return out
}
