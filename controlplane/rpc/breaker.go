package rpc

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// ListBreakers lists the fleet's breakers that are not closed or forced by an operator; or all.
func (s *fleetService) ListBreakers(ctx context.Context, r *pb.ListBreakersRequest) (*pb.ListBreakersResponse, error) {
	live, err := s.live(r.GetNamespace())
	if err != nil {
		return nil, err
	}
	told, asked, err := led(ctx, s, pb.FleetServiceClient.ListBreakers, r)
	if asked {
		return told, err
	}
	warn(ctx, err)
	all := s.breakers(live)
	if !r.GetAll() {
		all = slices.DeleteFunc(all, quiet)
	}
	return &pb.ListBreakersResponse{Breakers: all}, nil
}

// quiet is a breaker that needs no attention.
func quiet(b *pb.BreakerInfo) bool { return !isNotClosed(b.GetBreaker()) && b.GetForced() == nil }

// breakers are all that the fleet has a word of, and those that operators force, by endpoint.
func (s *fleetService) breakers(live Live) []*pb.BreakerInfo {
	var out []*pb.BreakerInfo
	served := s.names(live)
	for k, entry := range live.Fleet.All() {
		row := &pb.FleetEndpoint{}
		if k.Kind != pb.Kind_KIND_FLEET_ENDPOINT || !served[k.Name] || proto.Unmarshal(entry.Body, row) != nil {
			continue
		}
		out = append(out, BreakersOf(&pb.EndpointInfo{
			Name: k.Name, Fleet: row, FleetAgeUs: max(0, s.Now()-entry.At), Evidence: live.Evidence[k.Name],
		})...)
	}
	return withForced(out, forcedIn(live))
}

// BreakersOf are an endpoint's breakers, each with its line of the evidence. Their times count from when
// the info was made, not from when the fleet's row was.
func BreakersOf(e *pb.EndpointInfo) []*pb.BreakerInfo {
	var out []*pb.BreakerInfo
	for _, b := range e.GetFleet().GetBreakers() {
		b = proto.CloneOf(b)
		b.OpenUs, b.RampAgeUs = max(0, b.OpenUs-e.GetFleetAgeUs()), min(b.RampUs, b.RampAgeUs+e.GetFleetAgeUs())
		out = append(out, &pb.BreakerInfo{Endpoint: e.GetName(), Breaker: b, Evidence: evidenceOf(b, e.GetEvidence())})
	}
	return out
}

// evidenceOf is the line of an endpoint's evidence that is about one breaker, without what the
// breaker says itself.
func evidenceOf(b *pb.FleetBreaker, lines []string) string {
	about := strings.ToLower(strings.TrimPrefix(b.GetClass().String(), "CLASS_"))
	if b.GetLocality() != "" {
		about += " in " + b.GetLocality()
	}
	for _, line := range lines {
		if head, text, ok := strings.Cut(line, ": "); ok && isNotClosed(b) && (head == about || strings.HasPrefix(head, about+", ")) {
			return text
		}
	}
	return ""
}

// forcedIn are the forced breakers that have not run out, by endpoint.
func forcedIn(live Live) map[string]*pb.StoredOverride {
	out := map[string]*pb.StoredOverride{}
	for _, o := range live.Overrides {
		if o.GetOverride().GetBreaker() != nil && (o.Until == nil || time.Until(o.GetUntil().AsTime()) > 0) {
			out[o.GetOverride().GetEndpoint()] = o
		}
	}
	return out
}

// withForced says of each breaker whether an operator forces it. One that the fleet has no word of is there, too.
func withForced(all []*pb.BreakerInfo, forced map[string]*pb.StoredOverride) []*pb.BreakerInfo {
	said := map[string]bool{}
	for _, b := range all {
		if o := cmp.Or(forced[b.GetEndpoint()], forced[route.Declared(b.GetEndpoint())]); o != nil {
			b.Forced, b.Evidence = o.GetOverride().GetBreaker(), joined(forcing(o), b.GetEvidence())
			said[o.GetOverride().GetEndpoint()] = true
		}
	}
	for name, o := range forced {
		if !said[name] {
			all = append(all, &pb.BreakerInfo{
				Endpoint: name, Forced: o.GetOverride().GetBreaker(), Evidence: forcing(o),
				Breaker: &pb.FleetBreaker{Class: pb.Class_CLASS_ANY, State: pb.BreakerState_BREAKER_STATE_CLOSED},
			})
		}
	}
	slices.SortStableFunc(all, func(a, b *pb.BreakerInfo) int { return strings.Compare(a.GetEndpoint(), b.GetEndpoint()) })
	return all
}

// forcing is who forces a breaker, until when, and why: that it is forced, and how, the info says.
func forcing(o *pb.StoredOverride) string {
	var words []string
	if who := o.GetOverride().GetActor(); who != "" {
		words = append(words, "by "+who)
	}
	if o.Until != nil {
		words = append(words, "until "+o.GetUntil().AsTime().UTC().Format("2006-01-02 15:04:05Z"))
	}
	return strings.TrimPrefix(strings.Join(words, " ")+": "+o.GetOverride().GetReason(), ": ")
}

func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}
