package rpc

import (
	"slices"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	pageOfEvents = 500
	followEvery  = time.Second // the leader writes as often
)

// ListEvents sends what happened, oldest first, and goes on if asked to follow. Any replica can: events are in the store.
func (s *fleetService) ListEvents(r *pb.ListEventsRequest, stream pb.FleetService_ListEventsServer) error {
	if _, err := s.live(r.GetNamespace()); err != nil {
		return err
	}
	if r.GetFollow() {
		leave, err := s.streams.enter()
		if err != nil {
			return err
		}
		defer leave()
	}
	ctx, q := stream.Context(), store.EventQuery{Limit: pageOfEvents}
	if r.Since != nil {
		q.Since = r.GetSince().AsTime()
	}
	for {
		page, err := s.Store.Events(ctx, s.Namespace, q)
		if err != nil {
			return problem(err)
		}
		if err := sendEvents(r, page, stream); err != nil {
			return err
		}
		if len(page) > 0 {
			q.After = page[len(page)-1].GetNumber()
		}
		switch full := len(page) >= pageOfEvents; {
		case full:
		case !r.GetFollow():
			return nil
		case !s.pause(ctx, nil, followEvery):
			return s.ended(ctx)
		}
	}
}

func sendEvents(r *pb.ListEventsRequest, page []*pb.FleetEvent, stream pb.FleetService_ListEventsServer) error {
	for _, e := range page {
		if !chosen(r, e) {
			continue
		}
		if err := stream.Send(&pb.ListEventsResponse{Event: e}); err != nil {
			return err
		}
	}
	return nil
}

// chosen says whether a request asks for an event. Who asks for an endpoint asks for its instances, too.
func chosen(r *pb.ListEventsRequest, e *pb.FleetEvent) bool {
	if len(r.GetKinds()) > 0 && !slices.Contains(r.GetKinds(), e.GetKind()) {
		return false
	}
	return r.GetEndpoint() == "" || r.GetEndpoint() == e.GetEndpoint() || r.GetEndpoint() == route.Declared(e.GetEndpoint())
}
