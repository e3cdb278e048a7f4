package controlplane

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/access"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// catalogOfTwo has two workloads, one of them of tenant acme, who names its identities.
func catalogOfTwo(t *testing.T, tenants ...*pb.Tenant) *wire.State {
	t.Helper()
	entries := map[wire.Key]wire.Entry{}
	put := func(r *pb.Resource, err error) {
		if err != nil {
			t.Fatal(err)
		}
		entries[wire.Key{Kind: r.GetKind(), Name: r.GetName()}] = entryOf(r, 0)
	}
	for _, name := range []string{"chat", "search"} {
		put(wire.Resource(pb.Kind_KIND_ENDPOINT, "of-"+name, &pb.Endpoint{Name: "of-" + name}))
		put(wire.Resource(pb.Kind_KIND_WORKLOAD, name, &pb.Workload{Name: name, Tiers: []*pb.Tier{{Endpoints: []string{"of-" + name}}}}))
	}
	for _, n := range tenants {
		put(wire.Resource(pb.Kind_KIND_TENANT, n.GetName(), n))
	}
	return wire.NewState(pb.Track_TRACK_CATALOG, &pb.Version{Generation: 1}, entries)
}

func workloadsIn(s *wire.State) (out []string) {
	for k := range s.All() {
		if k.Kind == pb.Kind_KIND_WORKLOAD {
			out = append(out, k.Name)
		}
	}
	return out
}

// Rule 8: a view that becomes empty says why.
func TestAViewIsWhatItsIdentityMaySeeOfWhatItWants(t *testing.T) {
	acme := &pb.Tenant{Name: "acme", Workloads: []string{"chat"}, Identities: []string{"ann"}}
	everybody := &pb.Tenant{Name: "free", Workloads: []string{"search"}, Identities: []string{"*"}}
	all := wire.Selector{All: true}
	for _, c := range []struct {
		name     string
		tenants  []*pb.Tenant
		identity string
		sel      wire.Selector
		want     []string
		empty    pb.EmptyReason
	}{
		{"no tenant names identities", []*pb.Tenant{{Name: "acme", Workloads: []string{"*"}}}, "ann", all, []string{"chat", "search"}, 0},
		{"its tenant's", []*pb.Tenant{acme}, "ann", all, []string{"chat"}, 0},
		{"its tenant's, of those it names", []*pb.Tenant{acme}, "ann", wire.Selector{Workloads: []string{"chat", "search"}}, []string{"chat"}, 0},
		{"not what is another's", []*pb.Tenant{acme}, "ann", wire.Selector{Workloads: []string{"search"}}, nil, pb.EmptyReason_EMPTY_REASON_PERMISSION},
		{"nothing of anybody's", []*pb.Tenant{acme}, "bob", all, nil, pb.EmptyReason_EMPTY_REASON_PERMISSION},
		{"nobody in particular sees nothing", []*pb.Tenant{acme}, "", all, nil, pb.EmptyReason_EMPTY_REASON_PERMISSION},
		{"what is everybody's", []*pb.Tenant{acme, everybody}, "bob", all, []string{"search"}, 0},
		{"a workload that is not there", []*pb.Tenant{acme}, "ann", wire.Selector{Workloads: []string{"x"}}, nil, pb.EmptyReason_EMPTY_REASON_PUBLISHED_EMPTY},
	} {
		may := func(identity string) ([]string, bool) { return access.Workloads(c.tenants, identity) }
		s := catalogView(catalogOfTwo(t, c.tenants...), hub.View{Selector: c.sel, Identity: c.identity}, may)
		if diff := cmp.Diff(c.want, workloadsIn(s)); diff != "" || s.Empty() != c.empty {
			t.Errorf("%s: %s, empty because %v", c.name, diff, s.Empty())
		}
		for k := range s.All() {
			if k.Kind == pb.Kind_KIND_ENDPOINT && !slices.Contains(c.want, k.Name[len("of-"):]) {
				t.Errorf("%s: sees endpoint %s", c.name, k.Name)
			}
		}
	}
}

// Who shares a workload with another tenant neither sees that one's block nor can act for it.
func TestAViewHoldsTheTenantsThatItsIdentityActsForAndNoOthers(t *testing.T) {
	acme := &pb.Tenant{Name: "acme", Workloads: []string{"chat"}, Identities: []string{"ann"}}
	beta := &pb.Tenant{Name: "beta", Workloads: []string{"*"}, Identities: []string{"bob"}}
	free := &pb.Tenant{Name: "free", Workloads: []string{"*"}, Identities: []string{"*"}}
	silent := &pb.Tenant{Name: "silent", Workloads: []string{"*"}}
	for _, c := range []struct {
		name     string
		tenants  []*pb.Tenant
		identity string
		want     []string
	}{
		{"while none names any, all", []*pb.Tenant{silent, {Name: "x", Workloads: []string{"*"}}}, "ann", []string{"silent", "x"}},
		{"one that shares a workload", []*pb.Tenant{acme, beta, silent}, "ann", []string{"acme"}},
		{"one that may use all workloads", []*pb.Tenant{acme, beta, silent}, "bob", []string{"beta"}},
		{"what is everybody's", []*pb.Tenant{acme, beta, free}, "ann", []string{"acme", "free"}},
		{"nobody's", []*pb.Tenant{acme, beta}, "eve", nil},
	} {
		catalog := catalogOfTwo(t, c.tenants...)
		may := func(identity string) ([]string, bool) { return access.Workloads(c.tenants, identity) }
		s := ownTenants(catalogView(catalog, hub.View{Selector: wire.Selector{All: true}, Identity: c.identity}, may), c.identity, wire.Tenants(catalog))
		var got []string
		for _, tenant := range wire.Tenants(s) {
			got = append(got, tenant.GetName())
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if c.want != nil && s.Len() == 0 || c.want == nil && s.Empty() != pb.EmptyReason_EMPTY_REASON_PERMISSION {
			t.Errorf("%s: %d resources, empty because %v", c.name, s.Len(), s.Empty())
		}
	}
}

func TestAViewIsCutAnewWhenTenantsOrRightsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCouncil(t, 1)
		defer c.stop()
		s := c.leads()
		revoked := false
		s.origin.mu.Lock()
		s.origin.may = func(tenants []*pb.Tenant, _ string) ([]string, bool) {
			if revoked {
				return nil, false
			}
			return access.Workloads(tenants, "ann")
		}
		s.origin.mu.Unlock()
		one := s.join("one")
		defer one.stop()
		sees := func(want ...string) {
			t.Helper()
			time.Sleep(1500 * time.Millisecond)
			synctest.Wait()
			one.mu.Lock()
			defer one.mu.Unlock()
			if diff := cmp.Diff(want, workloadsIn(one.catalog)); diff != "" {
				t.Error(diff)
			}
		}
		sees("chat")
		s.serve(2, &pb.Workload{Name: "chat", Tiers: []*pb.Tier{{Endpoints: []string{"a"}}}}, []*pb.Tenant{{Name: "x", Workloads: []string{"chat"}, Identities: []string{"bob"}}})
		sees()
		s.serve(3, &pb.Workload{Name: "chat", Tiers: []*pb.Tier{{Endpoints: []string{"a"}}}}, []*pb.Tenant{{Name: "x", Workloads: []string{"chat"}, Identities: []string{"ann"}}})
		sees("chat")
		s.origin.mu.Lock()
		revoked = true
		s.origin.mu.Unlock()
		s.origin.recut()
		sees()
		one.mu.Lock()
		defer one.mu.Unlock()
		if one.catalog.Empty() != pb.EmptyReason_EMPTY_REASON_PERMISSION {
			t.Errorf("empty because %v", one.catalog.Empty())
		}
	})
}
