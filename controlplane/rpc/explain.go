package rpc

import (
	"context"
	"fmt"
	"slices"
	"time"

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
	core, err := s.core(live, nil)
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
	out.Candidates = candidates(e.Candidates)
	if e.Err != nil {
		out.Shed = e.Err.Error()
	}
	return out, nil
}

// candidates say how often each is drawn in its tier: its share of those that no gate refuses.
func candidates(all []route.Candidate) []*pb.Candidate {
	sums := map[string]float64{}
	for _, c := range all {
		if c.Reason == route.Pass {
			sums[c.Tier] += c.Share
		}
	}
	var out []*pb.Candidate
	for _, c := range all {
		m := &pb.Candidate{Endpoint: c.Endpoint, Tier: c.Tier, Score: c.Score}
		switch sum := sums[c.Tier]; {
		case c.Reason != route.Pass:
			m.Reason = c.Reason.String()
		case sum > 0:
			m.Share = c.Share / sum
		}
		out = append(out, m)
	}
	return out
}

// core is the decision core over what is served, without any process's own experience.
type core struct {
	catalog *route.Catalog
	router  *route.Router
	now     int64
}

// core compiles what is served, with the overrides as a change, if any, makes them.
func (s *fleetService) core(live Live, change func([]route.Override) []route.Override) (*core, error) {
	if live.Catalog == nil {
		return nil, status.Errorf(codes.NotFound, "nothing is published in namespace %q", s.Namespace)
	}
	c, _, err := wire.Catalog(live.Catalog, true)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	if change != nil {
		c.Overrides = change(c.Overrides)
	}
	var f *route.Fleet
	if live.Fleet != nil {
		if f, err = wire.Fleet(live.Fleet); err != nil {
			return nil, fmt.Errorf("read the fleet's state: %w", err)
		}
	}
	now := s.Now()
	snapshot, err := route.Compile(nil, c, f, route.Local{Wall: time.Now().UnixMicro() - now})
	if err != nil {
		return nil, fmt.Errorf("compile the catalog: %w", err)
	}
	out := &core{catalog: c, router: route.NewRouter(), now: now}
	out.router.Apply(out.now, snapshot)
	return out, nil
}

func (c *core) has(workload string) bool {
	return slices.ContainsFunc(c.catalog.Workloads, func(w route.Workload) bool { return w.Name == workload })
}
