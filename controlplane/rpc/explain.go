package rpc

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Explain says where a request would go by the fleet's knowledge alone: a leaf adds its own.
func (s *fleetService) Explain(_ context.Context, r *pb.ExplainRequest) (*pb.ExplainResponse, error) {
	live, err := s.live(r.GetNamespace())
	if err != nil {
		return nil, err
	}
	core, err := s.core(live)
	if err != nil {
		return nil, problem(err)
	}
	if !core.has(r.GetWorkload()) {
		return nil, status.Errorf(codes.NotFound, "the catalog that is served has no workload %q", r.GetWorkload())
	}
	e := core.router.Explain(core.now, r.GetWorkload(), route.Request{
		Tenant: r.GetTenant(), API: r.GetApi(), Needs: r.GetNeeds(), Input: r.GetInputTokens(), MaxOutput: r.GetMaxOutputTokens(),
	})
	out := &pb.ExplainResponse{
		Generation: e.Version.Generation, Revision: e.Version.Revision, Strategy: e.Strategy.String(), FleetOnly: true, Time: timestamppb.Now(),
	}
	for _, c := range e.Candidates {
		out.Candidates = append(out.Candidates, candidate(c))
	}
	if e.Err != nil {
		out.Shed = e.Err.Error()
	}
	return out, nil
}

func candidate(c route.Candidate) *pb.Candidate {
	out := &pb.Candidate{Endpoint: c.Endpoint, Tier: c.Tier, Share: c.Share, Score: c.Score}
	if c.Reason != route.Pass {
		out.Reason = c.Reason.String()
	}
	return out
}

// core is the decision core over what is served, without any process's own experience.
type core struct {
	catalog *route.Catalog
	router  *route.Router
	now     int64
}

func (s *fleetService) core(live Live, more ...route.Override) (*core, error) {
	if live.Catalog == nil {
		return nil, status.Errorf(codes.NotFound, "nothing is published in namespace %q", s.Namespace)
	}
	c, _, err := wire.Catalog(live.Catalog, true)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	c.Overrides = append(c.Overrides, more...)
	var f *route.Fleet
	if live.Fleet != nil {
		if f, err = wire.Fleet(live.Fleet); err != nil {
			return nil, fmt.Errorf("read the fleet's state: %w", err)
		}
	}
	snapshot, err := route.Compile(nil, c, f, route.Local{})
	if err != nil {
		return nil, fmt.Errorf("compile the catalog: %w", err)
	}
	out := &core{catalog: c, router: route.NewRouter(), now: s.Now()}
	out.router.Apply(out.now, snapshot)
	return out, nil
}

func (c *core) has(workload string) bool {
	return slices.ContainsFunc(c.catalog.Workloads, func(w route.Workload) bool { return w.Name == workload })
}

// served are the workloads that some tenant could send a plain request of now.
func (c *core) served() map[string]bool {
	out, tenants := map[string]bool{}, c.tenants()
	for i := range c.catalog.Workloads {
		name := c.catalog.Workloads[i].Name
		out[name] = slices.ContainsFunc(tenants, func(tenant string) bool {
			return c.router.Explain(c.now, name, route.Request{Tenant: tenant}).Err == nil
		})
	}
	return out
}

func (c *core) tenants() []string {
	out := make([]string, 0, len(c.catalog.Tenants))
	for i := range c.catalog.Tenants {
		out = append(out, c.catalog.Tenants[i].Name)
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}
