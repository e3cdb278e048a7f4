package agent

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// core opens the libraries that DecisionService decides by: each a child of this very agent like
// any other, that sees what its identity may.
func (c Config) core(d door) func(context.Context, string) (*clientlib.Client, error) {
	return func(ctx context.Context, identity string) (*clientlib.Client, error) {
		if d.inside == "" {
			return nil, status.Error(codes.Unimplemented, "the agent has no socket")
		}
		return clientlib.Open(ctx, clientlib.Config{
			Parents: []string{d.inside}, Dial: append(slices.Clone(d.dial), d.behalf(identity)),
			Name: c.Node + "-decide", Node: c.Node, Locality: c.Locality, Queue: -1, OthersSend: true,
		})
	}
}

// may says whether an identity may act for a tenant, as the catalog that it sees names them.
func (s *shelf) may(identity, tenant string) error {
	declared := s.tenants(identity)
	allows := func(t *pb.Tenant) bool { return t.Name == cmp.Or(tenant, "default") && wire.ActsFor(identity, t) }
	if !wire.Guarded(declared) || slices.ContainsFunc(declared, allows) {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "%s may not act for tenant %q: the catalog's tenant blocks name who may", identity, tenant)
}

// tenants are those in an identity's views.
func (s *shelf) tenants(identity string) (all []*pb.Tenant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.views {
		if h.view.Identity == identity {
			all = append(all, wire.Tenants(h.catalog)...)
		}
	}
	return all
}
