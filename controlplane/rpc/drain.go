package rpc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Drain takes an endpoint out of every pool, unless that strands a workload and nobody forced it.
func (s *fleetService) Drain(ctx context.Context, r *pb.DrainRequest) (*pb.DrainResponse, error) {
	live, err := s.live(r.GetNamespace())
	if err != nil {
		return nil, err
	}
	if _, ok := live.Catalog.Lookup(wire.Key{Kind: pb.Kind_KIND_ENDPOINT, Name: r.GetEndpoint()}); !ok {
		return nil, status.Errorf(codes.NotFound, "the catalog that is served has no endpoint %q", r.GetEndpoint())
	}
	if !r.GetForce() {
		if err := s.strands(live, r.GetEndpoint()); err != nil {
			return nil, problem(err)
		}
	}
	head, err := s.Store.SetOverride(ctx, s.Namespace, &pb.Override{
		Endpoint: r.GetEndpoint(), What: &pb.Override_Drain{Drain: &pb.Drain{}},
		Actor: r.GetActor(), Reason: r.GetReason(), DurationUs: r.GetDurationUs(),
	})
	return &pb.DrainResponse{Head: head}, problem(err)
}

// strands refuses a drain after which a workload that is served now would not be.
func (s *fleetService) strands(live Live, endpoint string) error {
	before, err := s.core(live)
	if err != nil {
		return err
	}
	after, err := s.core(live, route.Override{Endpoint: endpoint, Drain: true, Weight: route.Absent})
	if err != nil {
		return err
	}
	still := after.served()
	var stranded []string
	for name, served := range before.served() {
		if served && !still[name] {
			stranded = append(stranded, name)
		}
	}
	if len(stranded) == 0 {
		return nil
	}
	slices.Sort(stranded)
	names := strings.Join(stranded, ", ")
	return detailed(codes.FailedPrecondition,
		fmt.Sprintf("without endpoint %q nothing is left for %s: give them another endpoint first, or drain with force", endpoint, names),
		&errdetails.ErrorInfo{Reason: ReasonStrands, Domain: domain, Metadata: map[string]string{"workloads": names}})
}

// Undrain puts an endpoint back.
func (s *fleetService) Undrain(ctx context.Context, r *pb.UndrainRequest) (*pb.UndrainResponse, error) {
	if _, err := s.live(r.GetNamespace()); err != nil {
		return nil, err
	}
	head, err := s.Store.RemoveOverride(ctx, s.Namespace, store.Removal{Kind: store.Drain, Endpoint: r.GetEndpoint(), Actor: r.GetActor()})
	return &pb.UndrainResponse{Head: head}, problem(err)
}
