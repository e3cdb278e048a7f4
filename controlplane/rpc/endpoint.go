package rpc

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// reading is a catalog as it is served, and as the core takes it: it is read once, and nobody changes it.
type reading struct {
	of      *wire.State
	catalog *route.Catalog
}

// catalog is what is served, as the core takes it: as it is declared.
func (s *fleetService) catalog(live Live) (*route.Catalog, error) {
	if live.Catalog == nil {
		return nil, status.Errorf(codes.NotFound, "nothing is published in namespace %q", s.Namespace)
	}
	if r := s.read.Load(); r != nil && r.of == live.Catalog {
		return r.catalog, nil
	}
	c, _, err := wire.Catalog(live.Catalog, true)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	s.read.Store(&reading{live.Catalog, c})
	return c, nil
}

// instances are all that are served, by the endpoint that declares them: those of its list, or those that
// the leader found.
func (s *fleetService) instances(live Live) map[string][]*route.Endpoint {
	c, err := s.catalog(live)
	if err != nil {
		return nil // where there is no catalog there is none of them
	}
	out := map[string][]*route.Endpoint{}
	all := route.Expand(c, wire.Instances(live.Fleet)).Endpoints
	for i := range all {
		if declared := route.Declared(all[i].Name); declared != all[i].Name {
			out[declared] = append(out[declared], &all[i])
		}
	}
	return out
}

// names are what there is to name: every endpoint that is served, and every instance by its own name.
func (s *fleetService) names(live Live) map[string]bool {
	out := map[string]bool{}
	for k := range live.Catalog.All() {
		if k.Kind == pb.Kind_KIND_ENDPOINT {
			out[k.Name] = true
		}
	}
	for _, instances := range s.instances(live) {
		for _, i := range instances {
			out[i.Name] = true
		}
	}
	return out
}

// endpoints are in order of name, each before its instances. A body that does not decode is shown by its name.
func (s *fleetService) endpoints(live Live) []*pb.EndpointInfo {
	overrides := map[string][]*pb.Override{}
	for _, o := range standing(live.Overrides) {
		overrides[o.GetEndpoint()] = append(overrides[o.GetEndpoint()], o)
	}
	instances := s.instances(live)
	var out []*pb.EndpointInfo
	for k, entry := range live.Catalog.All() {
		if k.Kind != pb.Kind_KIND_ENDPOINT {
			continue
		}
		e := &pb.Endpoint{}
		_ = proto.Unmarshal(entry.Body, e) // what cannot be read stays empty
		info := &pb.EndpointInfo{
			Name: k.Name, Identity: e.GetIdentity(), Provider: e.GetProvider(), Model: e.GetModel(), Region: e.GetRegion(), Overrides: overrides[k.Name],
		}
		out = append(out, info)
		for _, i := range instances[k.Name] {
			one := proto.CloneOf(info)
			one.Name, one.Identity = i.Name, i.Identity
			one.Overrides = append(one.Overrides, overrides[i.Name]...)
			out = append(out, one)
		}
	}
	for _, info := range out {
		s.learned(live, info)
	}
	return out
}

// learned adds what the fleet knows.
func (s *fleetService) learned(live Live, info *pb.EndpointInfo) {
	reach := live.Reaches[info.GetName()]
	info.Evidence, info.Witnesses = live.Evidence[info.GetName()], live.Witnesses[info.GetName()]
	info.Reached, info.Unreached, info.UnreachedReason = reach.Reached, reach.Unreached, reach.Reason
	row, ok := live.Fleet.Lookup(wire.Key{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: info.GetName()})
	known := &pb.FleetEndpoint{}
	if !ok || proto.Unmarshal(row.Body, known) != nil || known.GetIdentity() != info.GetIdentity() {
		return
	}
	info.Fleet, info.FleetAgeUs, info.Speed = known, max(0, s.Now()-row.At), known.GetSpeed()
}
