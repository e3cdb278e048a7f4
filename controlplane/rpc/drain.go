package rpc

import (
	"context"
	"fmt"
	"maps"
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
	head, err := s.Store.SetOverride(ctx, s.Namespace, &pb.Override{
		Endpoint: r.GetEndpoint(), What: &pb.Override_Drain{Drain: &pb.Drain{}},
		Actor: r.GetActor(), Reason: r.GetReason(), DurationUs: r.GetDurationUs(),
	}, func(stored []*pb.StoredOverride) error {
		if r.GetForce() {
			return nil
		}
		return s.strands(live, drainsIn(stored), r.GetEndpoint())
	})
	return &pb.DrainResponse{Head: head}, problem(err)
}

// strands refuses a drain after which somebody who is served now would not be. The drains are the
// store's own, since what is served may lag behind them.
func (s *fleetService) strands(live Live, drains []route.Override, endpoint string) error {
	before, err := s.asks(live, drains, endpoint)
	if err != nil {
		return err
	}
	after, err := s.asks(live, append(drains, drainOf(endpoint)), endpoint)
	if err != nil {
		return err
	}
	var workloads, whom []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		lost := without(before[name], after[name])
		if len(lost) == 0 {
			continue
		}
		workloads = append(workloads, name)
		whom = append(whom, strings.TrimSpace(name+" "+lost[0]))
	}
	if len(workloads) == 0 {
		return nil
	}
	return detailed(codes.FailedPrecondition,
		fmt.Sprintf("without endpoint %q nothing is left for %s: give them another endpoint first, or drain with force", endpoint, strings.Join(whom, ", ")),
		&errdetails.ErrorInfo{Reason: ReasonStrands, Domain: domain, Metadata: map[string]string{"workloads": strings.Join(workloads, ", ")}})
}

func drainOf(endpoint string) route.Override {
	return route.Override{Endpoint: endpoint, Drain: true, Weight: route.Absent}
}

func drainsIn(stored []*pb.StoredOverride) []route.Override {
	var out []route.Override
	for _, o := range standing(stored) {
		if o.GetDrain() != nil {
			out = append(out, drainOf(o.GetEndpoint()))
		}
	}
	return out
}

func without(all, these []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(these, s) })
}

// Undrain puts an endpoint back.
func (s *fleetService) Undrain(ctx context.Context, r *pb.UndrainRequest) (*pb.UndrainResponse, error) {
	if _, err := s.live(r.GetNamespace()); err != nil {
		return nil, err
	}
	head, err := s.Store.RemoveOverride(ctx, s.Namespace, store.Removal{Kind: store.Drain, Endpoint: r.GetEndpoint(), Actor: r.GetActor()})
	return &pb.UndrainResponse{Head: head}, problem(err)
}
