package access

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// all stands for every workload.
const all = "*"

// Workloads are those that an identity may see; everything: all there are. Once any tenant names
// identities, one that none of them names sees nothing. While none does, tenancy is between the
// callers, and whoever may subscribe sees everything.
func Workloads(tenants []*pb.Tenant, identity string) (names []string, everything bool) {
	if !wire.Guarded(tenants) {
		return nil, true
	}
	for _, t := range tenants {
		if !wire.ActsFor(identity, t) {
			continue
		}
		if slices.Contains(t.GetWorkloads(), all) {
			return nil, true
		}
		names = append(names, t.GetWorkloads()...)
	}
	slices.Sort(names)
	return slices.Compact(names), false
}

// Tenants are those that an identity may act for.
func Tenants(tenants []*pb.Tenant, identity string) []string {
	var out []string
	for _, t := range tenants {
		if wire.ActsFor(identity, t) {
			out = append(out, t.GetName())
		}
	}
	return out
}

// ActsFor are the tenants that an identity may act for now.
func (g *Guard) ActsFor(identity string) []string { return Tenants(g.config.Tenants(), identity) }

// Workloads are those that an identity may see now: none, once it was revoked.
func (g *Guard) Workloads(tenants []*pb.Tenant, identity string) (names []string, everything bool) {
	if g.Revoked(identity) {
		return nil, false
	}
	return Workloads(tenants, identity)
}
