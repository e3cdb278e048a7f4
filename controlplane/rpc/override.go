package rpc

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const maxWeight = 1_000_000_000 // what the core takes

// Drain takes an endpoint out of every pool, unless that strands a workload and nobody forced it.
func (s *fleetService) Drain(ctx context.Context, r *pb.DrainRequest) (*pb.DrainResponse, error) {
	head, err := s.set(ctx, r, &pb.Override{
		Endpoint: r.GetEndpoint(), What: &pb.Override_Drain{Drain: &pb.Drain{}},
		Actor: r.GetActor(), Reason: r.GetReason(), DurationUs: r.GetDurationUs(),
	})
	return &pb.DrainResponse{Head: head}, problem(err)
}

// Undrain puts an endpoint back.
func (s *fleetService) Undrain(ctx context.Context, r *pb.UndrainRequest) (*pb.UndrainResponse, error) {
	if _, err := s.live(r.GetNamespace()); err != nil {
		return nil, err
	}
	head, err := s.Store.RemoveOverride(ctx, s.Namespace, store.Removal{
		Kind: store.Drain, Endpoint: r.GetEndpoint(), Actor: actor(ctx, r.GetActor()),
	})
	return &pb.UndrainResponse{Head: head}, problem(err)
}

// SetOverride forces a breaker or sets a weight, unless that strands a workload and nobody forced it.
func (s *fleetService) SetOverride(ctx context.Context, r *pb.SetOverrideRequest) (*pb.SetOverrideResponse, error) {
	o := proto.CloneOf(r.GetOverride())
	switch what := o.GetWhat().(type) {
	case *pb.Override_Breaker:
	case *pb.Override_Weight:
		if what.Weight < 0 || what.Weight > maxWeight {
			return nil, status.Errorf(codes.InvalidArgument, "weight %d: want 0 to %d", what.Weight, maxWeight)
		}
	default:
		return nil, status.Error(codes.InvalidArgument, "neither a breaker nor a weight is set: ask for a drain with Drain")
	}
	head, err := s.set(ctx, r, o)
	return &pb.SetOverrideResponse{Head: head}, problem(err)
}

// RemoveOverride takes a forced breaker or a weight back.
func (s *fleetService) RemoveOverride(ctx context.Context, r *pb.RemoveOverrideRequest) (*pb.RemoveOverrideResponse, error) {
	if _, err := s.live(r.GetNamespace()); err != nil {
		return nil, err
	}
	if r.GetKind() != store.Breaker && r.GetKind() != store.Weight {
		return nil, status.Errorf(codes.InvalidArgument, "kind %q: want %s or %s", r.GetKind(), store.Breaker, store.Weight)
	}
	head, err := s.Store.RemoveOverride(ctx, s.Namespace, store.Removal{Kind: r.GetKind(), Endpoint: r.GetEndpoint(), Actor: actor(ctx, "")})
	return &pb.RemoveOverrideResponse{Head: head}, problem(err)
}

// overriding is a request that sets an override.
type overriding interface {
	GetNamespace() string
	GetForce() bool
}

// set stores an operator's word on an endpoint that is served.
func (s *fleetService) set(ctx context.Context, r overriding, o *pb.Override) (*pb.Head, error) {
	live, err := s.live(r.GetNamespace())
	if err != nil {
		return nil, err
	}
	if !s.names(live)[o.GetEndpoint()] {
		return nil, status.Errorf(codes.NotFound, "the catalog that is served has no endpoint %q: `pointsman endpoint list` says what there is", o.GetEndpoint())
	}
	o.Actor = actor(ctx, o.GetActor())
	return s.Store.SetOverride(ctx, s.Namespace, o, func(stored []*pb.StoredOverride) error {
		if r.GetForce() {
			return nil
		}
		return s.strands(live, standing(stored), o)
	})
}
