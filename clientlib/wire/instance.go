package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// EncodeFleetInstances encodes the addresses of an endpoint. Their entry has no date: they
// stay until there are others.
func EncodeFleetInstances(in route.FleetInstances) (*pb.Resource, error) {
	m := &pb.FleetInstances{Endpoint: in.Endpoint}
	for _, i := range in.Instances {
		m.Instances = append(m.Instances, &pb.FleetInstance{Address: i.Address, Identity: i.Identity})
	}
	return Resource(pb.Kind_KIND_FLEET_INSTANCES, in.Endpoint, m)
}

// Instances decodes no more of a fleet state than instances; those that cannot be are left out.
func Instances(s *State) []route.FleetInstances {
	var all []route.FleetInstances
	for _, r := range s.kind(pb.Kind_KIND_FLEET_INSTANCES) {
		if in, fault := fleetInstances(r.key, r.entry); fault == "" {
			all = append(all, in)
		}
	}
	return all
}

func fleetInstances(k Key, e Entry) (out route.FleetInstances, fault string) {
	var m pb.FleetInstances
	switch {
	case proto.Unmarshal(e.Body, &m) != nil:
		return out, undecodable
	case m.Endpoint != k.Name:
		return out, otherName
	case len(m.Instances) > route.MostInstances:
		return out, fmt.Sprintf("has %d instances, at most %d", len(m.Instances), route.MostInstances)
	}
	out.Endpoint = m.Endpoint
	for _, i := range m.Instances {
		if !route.Address(i.GetAddress()) {
			return out, fmt.Sprintf("%q is no address: want host:port", i.GetAddress())
		}
		out.Instances = append(out.Instances, route.FleetInstance{Address: i.Address, Identity: i.Identity})
	}
	return out, ""
}
