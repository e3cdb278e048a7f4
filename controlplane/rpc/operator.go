package rpc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	pageOfAudit = 500
	takesTime   = 10 * time.Second // for all to run a new head
)

// operatorService is for those who run the control plane. What concerns roles and tokens is in
// operator_access.go.
type operatorService struct {
	pb.UnimplementedOperatorServiceServer
	Config
	fleet *fleetService
}

// ListAudit sends what people did, oldest first.
func (s *operatorService) ListAudit(r *pb.ListAuditRequest, stream pb.OperatorService_ListAuditServer) error {
	q := store.AuditQuery{Actor: r.GetActor(), Limit: pageOfAudit}
	if r.Since != nil {
		q.Since = r.GetSince().AsTime()
	}
	for {
		page, err := s.Store.Audit(stream.Context(), namespace(r.GetNamespace()), q)
		if err != nil {
			return problem(err)
		}
		for _, a := range page {
			if err := stream.Send(&pb.ListAuditResponse{Record: a.Record, Hash: a.Hash}); err != nil {
				return err
			}
		}
		if len(page) < pageOfAudit {
			return nil
		}
		q.After = page[len(page)-1].Record.GetNumber()
	}
}

// VerifyAudit follows the chain of hashes.
func (s *operatorService) VerifyAudit(ctx context.Context, r *pb.VerifyAuditRequest) (*pb.VerifyAuditResponse, error) {
	out, err := s.Store.VerifyAudit(ctx, namespace(r.GetNamespace()))
	return out, problem(err)
}

// AdoptStore makes what this store holds count as newer than what clients hold.
func (s *operatorService) AdoptStore(ctx context.Context, r *pb.AdoptStoreRequest) (*pb.AdoptStoreResponse, error) {
	if r.GetReason() == "" {
		return nil, status.Error(codes.InvalidArgument, "a reason is needed: others will want to know")
	}
	epoch, err := s.Store.Adopt(ctx, namespace(r.GetNamespace()), actor(ctx, ""), r.GetReason())
	return &pb.AdoptStoreResponse{Epoch: epoch}, problem(err)
}

// Check looks at the store, and at the fleet as the leader knows it.
func (s *operatorService) Check(ctx context.Context, r *pb.CheckRequest) (*pb.CheckResponse, error) {
	found, err := s.Store.Check(ctx, namespace(r.GetNamespace()))
	if err != nil {
		return nil, problem(err)
	}
	st, err := s.fleet.Status(ctx, &pb.StatusRequest{Namespace: r.GetNamespace()})
	if err != nil {
		return nil, err
	}
	list, err := s.fleet.ListEndpoints(ctx, &pb.ListEndpointsRequest{Namespace: r.GetNamespace()})
	if err != nil {
		return nil, err
	}
	all := slices.Concat(found, besides(found, fleetFindings(st)), endpointFindings(list.GetEndpoints()))
	slices.SortStableFunc(all, func(a, b *pb.CheckFinding) int { return rank(a) - rank(b) })
	return &pb.CheckResponse{Findings: all}, nil
}

// rank puts what is wrong already before what will be.
func rank(f *pb.CheckFinding) int {
	if f.GetSeverity() == pb.Severity_SEVERITY_ERROR {
		return 0
	}
	return 1
}

// besides leaves out the alarms that the store's findings are about.
func besides(found, more []*pb.CheckFinding) []*pb.CheckFinding {
	return slices.DeleteFunc(more, func(f *pb.CheckFinding) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(f.GetSummary(), alarming), ":")
		return strings.HasPrefix(f.GetSummary(), alarming) &&
			slices.ContainsFunc(found, func(s *pb.CheckFinding) bool { return strings.HasPrefix(s.GetSummary(), name) })
	})
}

const alarming = "alarm: "

// endpointFindings are the endpoints that some nodes cannot reach.
func endpointFindings(endpoints []*pb.EndpointInfo) []*pb.CheckFinding {
	var out []*pb.CheckFinding
	for _, e := range endpoints {
		if e.GetUnreached() == 0 {
			continue
		}
		out = append(out, &pb.CheckFinding{
			Severity: pb.Severity_SEVERITY_WARNING,
			Summary:  fmt.Sprintf("%d of %d nodes do not reach endpoint %q: %s", e.GetUnreached(), e.GetReached()+e.GetUnreached(), e.GetName(), e.GetUnreachedReason()),
			Remedy:   "see that its address is right and that nothing stands between; `pointsman agent status` on a node says what that one sees",
		})
	}
	return out
}

// fleetFindings is what of the fleet's state will hurt later.
func fleetFindings(st *pb.StatusResponse) []*pb.CheckFinding {
	var out []*pb.CheckFinding
	add := func(severity pb.Severity, remedy, format string, args ...any) {
		out = append(out, &pb.CheckFinding{Severity: severity, Summary: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	for _, alarm := range st.GetAlarms() {
		add(pb.Severity_SEVERITY_ERROR, "see docs/operating.md, when something is wrong", "%s", alarming+alarm)
	}
	if n := len(st.GetBehind()); n > 0 && time.Since(st.GetHead().GetTime().AsTime()) > takesTime {
		add(pb.Severity_SEVERITY_WARNING, "`pointsman client list` says which, and why", "%d of %d leaves do not run what is served", n, st.GetLeaves())
	}
	for _, o := range st.GetOverrides() {
		if o.GetDurationUs() == 0 {
			add(pb.Severity_SEVERITY_WARNING, "take it back when its reason is gone, or set it again with an end (-for)",
				"an override of endpoint %q has no end: %s", o.GetEndpoint(), o.GetReason())
		}
	}
	return out
}
