package controlplane

import (
	"maps"
	"slices"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/access"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// entitlement says which workloads of a catalog an identity may see.
type entitlement func(identity string) (names []string, everything bool)

// cut is what one view was last sent, and what it was cut from. All but of belongs to the
// goroutine that publishes.
type cut struct {
	of             hub.View
	catalog, fleet *wire.State
	rights         uint64
	view           *wire.State // of the catalog
}

// publish sends what differs from the last time.
func (c *cut) publish(h *hub.Hub, s served) {
	if s.Catalog == nil {
		return
	}
	recut := !c.of.FleetOnly && (c.catalog != s.Catalog || c.rights != s.rights)
	if recut {
		c.catalog, c.rights, c.view = s.Catalog, s.rights, ownTenants(catalogView(s.Catalog, c.of, s.may), c.of.Identity, s.tenants)
		h.Publish(c.of, c.view)
	}
	if s.Fleet == nil || c.fleet == s.Fleet && !recut {
		return
	}
	c.fleet = s.Fleet
	send := h.Publish
	if s.urgent {
		send = h.PublishUrgent
	}
	send(c.of, c.fleetView())
}

func (c *cut) fleetView() *wire.State {
	s := c.fleet
	if c.of.FleetOnly || c.of.Selector.All && c.view == c.catalog {
		return s
	}
	return wire.NewState(s.Track(), s.Version(), wire.FleetClosure(s, c.view))
}

// catalogView cuts a catalog to what an identity may see and wants to. That nothing is left is
// what was published, or what it may not see: it says which.
func catalogView(s *wire.State, v hub.View, may entitlement) *wire.State {
	wanted := v.Selector.All || len(v.Selector.Workloads) > 0
	sel, denied := entitled(s, v, may)
	if !sel.All {
		s = wire.NewState(s.Track(), s.Version(), wire.Closure(s, sel))
	}
	switch {
	case s.Len() > 0 || !wanted:
		return s
	case denied:
		return s.Because(pb.EmptyReason_EMPTY_REASON_PERMISSION)
	}
	return s.Because(pb.EmptyReason_EMPTY_REASON_PUBLISHED_EMPTY)
}

// entitled narrows a view's selector to the workloads that its identity may see: the tenants
// of the catalog say which. Denied: there are some of those that it wants, and it may see none.
func entitled(s *wire.State, v hub.View, may entitlement) (sel wire.Selector, denied bool) {
	names, all := may(v.Identity)
	if all {
		return v.Selector, false
	}
	for k := range s.All() {
		if k.Kind != pb.Kind_KIND_WORKLOAD || !v.Selector.All && !slices.Contains(v.Selector.Workloads, k.Name) {
			continue
		}
		if denied = denied || !slices.Contains(names, k.Name); slices.Contains(names, k.Name) {
			sel.Workloads = append(sel.Workloads, k.Name)
		}
	}
	return sel, denied && len(sel.Workloads) == 0
}

// ownTenants leaves a view no tenants but those that its identity may act for: whom a library does not
// know, no request of it is served for, and what others pay and may is none of its business.
func ownTenants(s *wire.State, identity string, tenants []*pb.Tenant) *wire.State {
	if !wire.Guarded(tenants) {
		return s
	}
	own, entries := access.Tenants(tenants, identity), maps.Collect(s.All())
	maps.DeleteFunc(entries, func(k wire.Key, _ wire.Entry) bool {
		return k.Kind == pb.Kind_KIND_TENANT && !slices.Contains(own, k.Name)
	})
	if len(entries) == s.Len() {
		return s
	}
	return wire.NewState(s.Track(), s.Version(), entries)
}
