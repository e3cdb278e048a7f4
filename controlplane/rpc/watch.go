package rpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// later is how much later a breaker must stay open to be told again: less is how messages travel.
const later = time.Second

// WatchBreakers sends what ListBreakers would, then each change. It is level-triggered: what changed
// twice between two looks is told once. Whether there is anything to tell every replica sees by
// itself, so that a watch outlives the leader; the evidence is the leader's.
func (s *fleetService) WatchBreakers(r *pb.WatchBreakersRequest, stream pb.FleetService_WatchBreakersServer) error {
	if _, err := s.live(r.GetNamespace()); err != nil {
		return err
	}
	leave, err := s.streams.enter()
	if err != nil {
		return err
	}
	defer leave()
	if err := stream.SendHeader(metadata.MD{}); err != nil { // it is watched, though nothing may be open
		return err
	}
	ctx, w := stream.Context(), watch{}
	for {
		changed := s.changed()
		for _, b := range w.news(s.Now(), s.breakers(s.Live()), func() []*pb.BreakerInfo { return s.explained(ctx, r.GetNamespace()) }) {
			if err := stream.Send(&pb.WatchBreakersResponse{Breaker: b, Time: timestamppb.Now()}); err != nil {
				return err
			}
		}
		if !s.pause(ctx, changed, lookAgain) {
			return s.ended(ctx)
		}
	}
}

// explained are the breakers with the evidence that the leader has; nil: it cannot be had.
func (s *fleetService) explained(ctx context.Context, namespace string) []*pb.BreakerInfo {
	told, asked, err := led(ctx, s, pb.FleetServiceClient.ListBreakers, &pb.ListBreakersRequest{Namespace: namespace, All: true})
	if !asked || err != nil {
		return nil
	}
	return told.GetBreakers()
}

// watch is what one watcher was told of each breaker that is not closed or forced.
type watch map[string]glimpse

// glimpse is what of a breaker is worth telling when it changes.
type glimpse struct {
	word  string
	until int64
	info  *pb.BreakerInfo
}

// news are the changes since the last call, in order of names. Evidence that is not here is asked for, if there are any.
func (w watch) news(now int64, all []*pb.BreakerInfo, explained func() []*pb.BreakerInfo) []*pb.BreakerInfo {
	seen, changed := map[string]bool{}, map[string]*pb.BreakerInfo{}
	for _, b := range all {
		key, g := keyOf(b), glimpseOf(now, b)
		last, told := w[key]
		if quiet(b) && !told {
			continue
		}
		seen[key] = true
		if !told || g.differs(last) {
			changed[key] = b
		}
		w[key] = g
		if quiet(b) {
			delete(w, key)
		}
	}
	for key, last := range w {
		if !seen[key] {
			changed[key] = closed(last.info)
			delete(w, key)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	explain(changed, explained())
	var out []*pb.BreakerInfo
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		out = append(out, changed[key])
	}
	return out
}

func keyOf(b *pb.BreakerInfo) string {
	return b.GetEndpoint() + "\x00" + b.GetBreaker().GetLocality() + "\x00" + b.GetBreaker().GetClass().String()
}

func glimpseOf(now int64, b *pb.BreakerInfo) glimpse {
	f := b.GetBreaker()
	return glimpse{
		word:  fmt.Sprint(f.GetState(), f.GetRound(), f.GetSoft(), f.GetReason(), b.GetForced() != nil, b.GetForced().GetOpen()),
		until: now + f.GetOpenUs(), info: b,
	}
}

func (g glimpse) differs(last glimpse) bool {
	open := g.info.GetBreaker().GetOpenUs() > 0 // what ran out is over, whoever has not yet said so
	return g.word != last.word || open && g.until > last.until+later.Microseconds()
}

// closed is a breaker that is told of no more.
func closed(b *pb.BreakerInfo) *pb.BreakerInfo {
	return &pb.BreakerInfo{Endpoint: b.GetEndpoint(), Breaker: &pb.FleetBreaker{
		Class: b.GetBreaker().GetClass(), Locality: b.GetBreaker().GetLocality(), Round: b.GetBreaker().GetRound(),
		State: pb.BreakerState_BREAKER_STATE_CLOSED,
	}}
}

// explain adds evidence about the same state of the same breakers.
func explain(these map[string]*pb.BreakerInfo, from []*pb.BreakerInfo) {
	for _, b := range from {
		if mine := these[keyOf(b)]; mine != nil && b.GetBreaker().GetState() == mine.GetBreaker().GetState() {
			mine.Evidence = b.GetEvidence()
		}
	}
}
