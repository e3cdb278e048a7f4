package rpc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// asked is a replica that leads, whose leaves answer so.
func asked(answer func(context.Context, *pb.Question) (*pb.Answer, error)) *fleetService {
	s := follower(nil)
	s.Live = func() Live { return Live{Head: &pb.Head{Epoch: 1}, Leads: true} }
	s.Ask = func(ctx context.Context, leaf string, q *pb.Question) (*pb.Answer, error) {
		if leaf != q.GetLeaf() || q.GetTimeoutUs() <= 0 {
			return nil, errors.New("bug: another leaf, or no time")
		}
		return answer(ctx, q)
	}
	return s
}

func TestTheLeafThatIsNamedExplains(t *testing.T) {
	s := asked(func(_ context.Context, q *pb.Question) (*pb.Answer, error) {
		return &pb.Answer{Explain: &pb.ExplainResponse{Strategy: q.GetLeaf() + " " + q.GetExplain().GetWorkload()}}, nil
	})
	got, err := s.Explain(t.Context(), &pb.ExplainRequest{Client: "leaf-1", Workload: "chat"})
	if err != nil || got.GetStrategy() != "leaf-1 chat" || got.GetFleetOnly() {
		t.Error(got, err)
	}
}

func TestALeafThatCannotAnswerIsAnErrorNotTheFleetsWord(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer *pb.Answer
		err    error
		want   codes.Code
		says   string
	}{
		{"nobody of that name", nil, status.Error(codes.NotFound, "no"), codes.NotFound, `no leaf "leaf-1"`},
		{"too many questions", nil, status.Error(codes.ResourceExhausted, "many"), codes.ResourceExhausted, "many"},
		{"its own error", &pb.Answer{Error: "an older library"}, nil, codes.Unavailable, "an older library"},
	} {
		s := asked(func(context.Context, *pb.Question) (*pb.Answer, error) { return c.answer, c.err })
		_, err := s.Explain(t.Context(), &pb.ExplainRequest{Client: "leaf-1"})
		t.Log(c.name)
		wantCode(t, err, c.want, c.says)
	}
}

func TestALeafIsWaitedForLessLongThanItsCallerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := asked(func(ctx context.Context, q *pb.Question) (*pb.Answer, error) {
			<-ctx.Done()
			return nil, status.FromContextError(ctx.Err()).Err()
		})
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err := s.Explain(ctx, &pb.ExplainRequest{Client: "leaf-1"})
		wantCode(t, err, codes.DeadlineExceeded, "did not answer within 800ms")
		if ctx.Err() != nil {
			t.Error("the caller was gone by then")
		}
	})
}

func TestAReplicaWithoutALeaderAsksTheLeavesBelowIt(t *testing.T) {
	s := asked(func(_ context.Context, q *pb.Question) (*pb.Answer, error) {
		if q.GetLeaf() != "mine" {
			return nil, status.Error(codes.NotFound, "no way")
		}
		return &pb.Answer{Explain: &pb.ExplainResponse{}}, nil
	})
	s.Live = func() Live { return Live{Head: &pb.Head{Epoch: 1}} }
	if _, err := s.Explain(t.Context(), &pb.ExplainRequest{Client: "mine"}); err != nil {
		t.Error(err)
	}
	_, err := s.Explain(t.Context(), &pb.ExplainRequest{Client: "theirs"})
	wantCode(t, err, codes.Unavailable, "not connected below this replica", "nobody leads")
}
