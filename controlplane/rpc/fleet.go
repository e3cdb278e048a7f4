package rpc

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

type fleetService struct {
	pb.UnimplementedFleetServiceServer
	Config
	streams streams
	read    atomic.Pointer[reading]
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
		out = append(out, &pb.ClientInfo{State: l, Behind: Behind(l.GetVersion(), live.Head)})
	}
	return out
}

// Behind says whether a leaf does not run head.
func Behind(v *pb.Version, head *pb.Head) bool {
	return v.GetStoreId() != head.GetStoreId() || v.GetEpoch() != head.GetEpoch() || v.GetGeneration() != head.GetGeneration()
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
