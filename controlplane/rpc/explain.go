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

const (
	askWithin = 5 * time.Second        // a leaf, over all relays
	askMargin = 200 * time.Millisecond // of the caller's time, to tell him that a leaf did not answer
)

// Explain says where a request would go: by what the leaf knows that is named, or by the fleet's knowledge alone.
func (s *fleetService) Explain(ctx context.Context, r *pb.ExplainRequest) (*pb.ExplainResponse, error) {
	live, err := s.live(r.GetNamespace())
	switch {
	case err != nil:
		return nil, err
	case r.GetClient() != "":
		return s.askLeaf(ctx, r)
	}
	core, err := s.core(live)
	if err != nil {
		return nil, problem(err)
	}
	if !core.has(r.GetWorkload()) {
		return nil, status.Errorf(codes.NotFound, "the catalog that is served has no workload %q", r.GetWorkload())
	}
	e := core.router.Explain(core.now, r.GetWorkload(), wire.Asked(r))
	out := wire.EncodeExplained(&e)
	out.FleetOnly, out.Time = true, timestamppb.Now()
	return out, nil
}

// askLeaf has a leaf explain: by the leader, who knows the way to all of them; or by this replica, if it knows one.
func (s *fleetService) askLeaf(ctx context.Context, r *pb.ExplainRequest) (*pb.ExplainResponse, error) {
	told, asked, lack := led(ctx, s, pb.FleetServiceClient.Explain, r)
	if asked {
		return told, lack
	}
	if s.Ask == nil {
		return nil, status.Error(codes.Unimplemented, "leaves cannot be asked here")
	}
	within := askWithin
	if end, ok := ctx.Deadline(); ok {
		within = max(0, min(within, time.Until(end)-askMargin))
	}
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	a, err := s.Ask(asking, r.GetClient(), &pb.Question{Leaf: r.GetClient(), Explain: r, TimeoutUs: within.Microseconds()})
	switch code := status.Code(err); {
	case code == codes.NotFound && lack != nil:
		return nil, status.Errorf(codes.Unavailable, "leaf %q is not connected below this replica, and %v", r.GetClient(), lack)
	case code == codes.NotFound:
		return nil, status.Errorf(codes.NotFound, "no leaf %q is connected", r.GetClient())
	case ctx.Err() == nil && asking.Err() != nil:
		return nil, status.Errorf(codes.DeadlineExceeded, "leaf %q did not answer within %v", r.GetClient(), within.Round(time.Millisecond))
	case err != nil:
		return nil, problem(err)
	case a.GetError() != "":
		return nil, status.Errorf(codes.Unavailable, "leaf %q gives no answer: %s", r.GetClient(), a.GetError())
	}
	warn(ctx, lack)
	return a.GetExplain(), nil
}

// core is the decision core over what is served, without any process's own experience.
type core struct {
	catalog *route.Catalog
	router  *route.Router
	now     int64
}

func (s *fleetService) core(live Live) (*core, error) {
	c, err := s.catalog(live)
	if err != nil {
		return nil, err
	}
	return s.compiled(live, c)
}

// compiled is a core over a catalog and what the fleet knows.
func (s *fleetService) compiled(live Live, c *route.Catalog) (*core, error) {
	var f *route.Fleet
	if live.Fleet != nil {
		var err error
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
