package wire

import (
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Tenants are those that a catalog declares, by the names of their resources. One that does not
// decode is entitled to nothing, and nobody's.
func Tenants(s *State) []*pb.Tenant {
	var all []*pb.Tenant
	for k, e := range s.All() {
		if k.Kind != pb.Kind_KIND_TENANT {
			continue
		}
		t := &pb.Tenant{}
		if proto.Unmarshal(e.Body, t) != nil {
			t = &pb.Tenant{}
		}
		t.Name = k.Name
		all = append(all, t)
	}
	return all
}

// Guarded tells whether any tenant names identities: then nobody acts for one that does not name it.
// While none does, tenancy is between the callers.
func Guarded(tenants []*pb.Tenant) bool {
	return slices.ContainsFunc(tenants, func(t *pb.Tenant) bool { return len(t.GetIdentities()) > 0 })
}

// ActsFor tells whether a tenant names an identity, or everybody who is known.
func ActsFor(identity string, t *pb.Tenant) bool {
	return slices.Contains(t.GetIdentities(), identity) || identity != "" && slices.Contains(t.GetIdentities(), "*")
}
