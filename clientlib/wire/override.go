package wire

import (
	"cmp"
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Override encodes an operator's word. Its resource is named "drain/endpoint": one of each
// sort can stand on an endpoint. Date its entry when it was set.
func Override(o *pb.Override) (*pb.Resource, error) {
	sort := ""
	switch o.What.(type) {
	case *pb.Override_Drain:
		sort = "drain"
	case *pb.Override_Breaker:
		sort = "breaker"
	case *pb.Override_Weight:
		sort = "weight"
	default:
		return nil, errors.New("an override that says nothing")
	}
	return Resource(pb.Kind_KIND_OVERRIDE, sort+"/"+o.Endpoint, o)
}

// overridden is the endpoint that an override's resource is about, by its name alone: a
// body that does not decode is still some endpoint's.
func overridden(name string) string {
	_, endpoint, _ := strings.Cut(name, "/")
	return endpoint
}

// override decodes one. A sort that is not known here is an unknown field, and so ignored.
func override(k Key, e Entry) (o route.Override, known bool, fault string) {
	var m pb.Override
	if proto.Unmarshal(e.Body, &m) != nil {
		return o, false, undecodable
	}
	if m.Endpoint != overridden(k.Name) {
		return o, false, otherName
	}
	if bad, _ := inspect(&m); bad != "" {
		return o, false, bad
	}
	o = route.Override{Endpoint: m.Endpoint, Weight: route.Absent}
	if m.DurationUs > 0 {
		o.Until = cmp.Or(plus(made(e), m.DurationUs), -1) // 0 would be for ever
	}
	return o, apply(&m, &o), ""
}

func apply(m *pb.Override, o *route.Override) (known bool) {
	switch what := m.What.(type) {
	case *pb.Override_Drain:
		o.Drain = true
	case *pb.Override_Breaker:
		o.Forced = route.ForcedClosed
		if what.Breaker.GetOpen() {
			o.Forced = route.ForcedOpen
		}
	case *pb.Override_Weight:
		o.Weight = what.Weight
	default:
		return false
	}
	return true
}
