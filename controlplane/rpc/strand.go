package rpc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// strands refuses an override after which somebody who is served now would not be. Those beside it
// are the store's own, since what is served may lag behind them.
func (s *fleetService) strands(live Live, beside []*pb.Override, o *pb.Override) error {
	before, err := s.asks(live, ordersOf(beside), o.GetEndpoint())
	if err != nil {
		return err
	}
	after, err := s.asks(live, ordersOf(replaced(beside, o)), o.GetEndpoint())
	if err != nil {
		return err
	}
	var workloads, whom []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		lost := without(before[name], after[name])
		if len(lost) == 0 {
			continue
		}
		workloads = append(workloads, name)
		whom = append(whom, strings.TrimSpace(name+" "+lost[0]))
	}
	if len(workloads) == 0 {
		return nil
	}
	return detailed(codes.FailedPrecondition,
		fmt.Sprintf("without endpoint %q nothing is left for %s: give them another endpoint first, or do it with force", o.GetEndpoint(), strings.Join(whom, ", ")),
		&errdetails.ErrorInfo{Reason: ReasonStrands, Domain: domain, Metadata: map[string]string{"workloads": strings.Join(workloads, ", ")}})
}

// replaced are overrides with one in the place of another of its kind.
func replaced(all []*pb.Override, o *pb.Override) []*pb.Override {
	kind := order(o)
	others := slices.DeleteFunc(slices.Clone(all), func(other *pb.Override) bool {
		same := order(other)
		return other.GetEndpoint() == o.GetEndpoint() && same.Drain == kind.Drain &&
			(same.Forced == route.NotForced) == (kind.Forced == route.NotForced)
	})
	return append(others, o)
}

func ordersOf(all []*pb.Override) []route.Override {
	var out []route.Override
	for _, o := range all {
		out = append(out, order(o))
	}
	return out
}

// order is an override as the core takes it, while it holds.
func order(o *pb.Override) route.Override {
	out := route.Override{Endpoint: o.GetEndpoint(), Weight: route.Absent}
	switch what := o.GetWhat().(type) {
	case *pb.Override_Drain:
		out.Drain = true
	case *pb.Override_Breaker:
		out.Forced = route.ForcedClosed
		if what.Breaker.GetOpen() {
			out.Forced = route.ForcedOpen
		}
	case *pb.Override_Weight:
		out.Weight = what.Weight
	}
	return out
}

func without(all, these []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(these, s) })
}
