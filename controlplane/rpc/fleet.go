package rpc

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

type fleetService struct {
	pb.UnimplementedFleetServiceServer
	Config
	streams streams
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

// ListEndpoints lists what the served catalog has, with what the fleet knows of each.
func (s *fleetService) ListEndpoints(ctx context.Context, r *pb.ListEndpointsRequest) (*pb.ListEndpointsResponse, error) {
	live, err := s.live(r.GetNamespace())
	if err != nil {
		return nil, err
	}
	told, asked, err := led(ctx, s, pb.FleetServiceClient.ListEndpoints, r)
	if asked {
		return told, err
	}
	warn(ctx, err)
	return &pb.ListEndpointsResponse{Endpoints: s.endpoints(live)}, nil
}

// ListClients lists the leaves known here, direct or behind agents.
func (s *fleetService) ListClients(ctx context.Context, r *pb.ListClientsRequest) (*pb.ListClientsResponse, error) {
	live, err := s.live(r.GetNamespace())
	if err != nil {
		return nil, err
	}
	told, asked, err := led(ctx, s, pb.FleetServiceClient.ListClients, r)
	if asked {
		return told, err
	}
	warn(ctx, err)
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

// endpoints are in order of name, each before its instances. A body that does not decode is shown by its name.
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
			Name: k.Name, Identity: e.GetIdentity(), Provider: e.GetProvider(), Model: e.GetModel(), Region: e.GetRegion(), Overrides: overrides[k.Name],
		}
		out = append(out, info)
		for _, i := range instances(live, k.Name) {
			one := proto.CloneOf(info)
			one.Name, one.Identity = route.InstanceName(k.Name, i.GetAddress()), i.GetIdentity()
			out = append(out, one)
		}
	}
	for _, info := range out {
		s.learned(live, info)
	}
	return out
}

// instances are the addresses that the leader found of an endpoint.
func instances(live Live, endpoint string) []*pb.FleetInstance {
	row, ok := live.Fleet.Lookup(wire.Key{Kind: pb.Kind_KIND_FLEET_INSTANCES, Name: endpoint})
	all := &pb.FleetInstances{}
	if !ok || proto.Unmarshal(row.Body, all) != nil {
		return nil
	}
	return all.GetInstances()
}

// learned adds what the fleet knows.
func (s *fleetService) learned(live Live, info *pb.EndpointInfo) {
	reach := live.Reaches[info.GetName()]
	info.Evidence, info.Witnesses = live.Evidence[info.GetName()], live.Witnesses[info.GetName()]
	info.Reached, info.Unreached, info.UnreachedReason = reach.Reached, reach.Unreached, reach.Reason
	row, ok := live.Fleet.Lookup(wire.Key{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: info.GetName()})
	known := &pb.FleetEndpoint{}
	if !ok || proto.Unmarshal(row.Body, known) != nil || known.GetIdentity() != info.GetIdentity() {
		return
	}
	info.Fleet, info.FleetAgeUs, info.Speed = known, max(0, s.Now()-row.At), known.GetSpeed()
}

func notClosed(f *pb.FleetEndpoint) bool { return slices.ContainsFunc(f.GetBreakers(), isNotClosed) }

func isNotClosed(b *pb.FleetBreaker) bool {
	return b.GetState() != pb.BreakerState_BREAKER_STATE_CLOSED
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
