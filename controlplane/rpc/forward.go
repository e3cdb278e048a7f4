package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	forwarded    = "pointsman-forwarded" // a replica asks on behalf of a caller: no second hop
	leaderWithin = 2 * time.Second

	// WarningKey is the header in which an answer says what it lacks.
	WarningKey = "pointsman-warning"
)

// method is one of FleetService's calls.
type method[Q, A any] = func(pb.FleetServiceClient, context.Context, Q, ...grpc.CallOption) (A, error)

// led asks the leader, who knows the whole fleet, where another replica leads. An answer that is not
// asked for is this replica's to give; err then says what keeps it from being the whole.
func led[Q, A any](ctx context.Context, s *fleetService, ask method[Q, A], q Q) (answer A, asked bool, err error) {
	live := s.Live()
	if live.Leads || s.Leader == nil {
		return answer, false, nil
	}
	if md, _ := metadata.FromIncomingContext(ctx); len(md.Get(forwarded)) > 0 {
		return answer, true, status.Error(codes.Unavailable, "this replica does not lead, or not any more")
	}
	conn, ok := s.Leader()
	if !ok {
		return answer, false, errors.New("nobody leads: this is what one replica knows")
	}
	asking, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, forwarded, "1"), leaderWithin)
	defer cancel()
	answer, err = ask(pb.NewFleetServiceClient(conn), asking, q)
	switch {
	case err == nil, ctx.Err() != nil:
		return answer, true, err
	case away(err):
		return answer, false, fmt.Errorf("the leader does not answer: %s: this is what one replica knows", silence(err))
	}
	return answer, true, err
}

// away tells a leader that cannot answer from one that refuses what it was asked.
func away(err error) bool {
	switch status.Code(err) {
	case codes.NotFound, codes.InvalidArgument, codes.FailedPrecondition, codes.ResourceExhausted:
		return false
	}
	return true
}

func silence(err error) string {
	if status.Code(err) == codes.DeadlineExceeded {
		return fmt.Sprintf("nothing came within %v", leaderWithin)
	}
	return status.Convert(err).Message()
}

// warn says with an answer what it lacks.
func warn(ctx context.Context, lack error) {
	if lack != nil {
		_ = grpc.SetHeader(ctx, metadata.Pairs(WarningKey, lack.Error())) // the answer says nothing less without
	}
}
