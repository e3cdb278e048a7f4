package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func opened(endpoint string, at time.Time, left time.Duration) *pb.WatchBreakersResponse {
	return &pb.WatchBreakersResponse{Time: timestamppb.New(at), Breaker: &pb.BreakerInfo{
		Endpoint: endpoint, Evidence: "3 of 3 nodes",
		Breaker: &pb.FleetBreaker{Class: pb.Class_CLASS_ANY, State: pb.BreakerState_BREAKER_STATE_OPEN, Round: 2, OpenUs: left.Microseconds()},
	}}
}

func TestTheLiveTableCountsDownAndForgetsWhatClosed(t *testing.T) {
	at := time.Date(2026, 12, 1, 3, 4, 5, 0, time.UTC)
	b := &board{}
	b.begin()
	b.take(opened("gpu-b", at, 20*time.Second), at)
	b.take(opened("gpu-a", at, 20*time.Second), at)
	gone := opened("gpu-a", at, 0)
	gone.Breaker.Breaker.State, gone.Breaker.Evidence = pb.BreakerState_BREAKER_STATE_CLOSED, ""
	b.take(gone, at)
	got := b.draw(at.Add(7 * time.Second))
	want := `03:04:12Z  1 breaker not closed

ENDPOINT  CLASS  WHERE  STATE  ROUND  LEFT  WHY
gpu-b     any    -      open   2      13s   3 of 3 nodes

latest changes
2026-12-01 03:04:05.000Z  gpu-b               any     -           open                    2      20s      3 of 3 nodes
2026-12-01 03:04:05.000Z  gpu-a               any     -           open                    2      20s      3 of 3 nodes
2026-12-01 03:04:05.000Z  gpu-a               any     -           closed                  2      -        -

Interrupt to stop.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheLiveTableSaysThatTheControlPlaneIsAwayAndBeginsAnew(t *testing.T) {
	at := time.Date(2026, 12, 1, 3, 4, 5, 0, time.UTC)
	b := &board{}
	b.begin()
	b.take(opened("gpu-b", at, 20*time.Second), at)
	b.lose(errors.New("no route"), time.Second)
	if got := b.draw(at); !strings.Contains(got, "no route; trying again in 1s") || !strings.Contains(got, "gpu-b     any") {
		t.Error(got)
	}
	b.begin()
	if got := b.draw(at); !strings.Contains(got, "0 breakers not closed") || strings.Contains(got, "gpu-b     any") {
		t.Error(got)
	}
}

func TestTheLiveTableKeepsAFewChangesOnly(t *testing.T) {
	b, at := &board{}, time.Now()
	b.begin()
	for range 3 * recentMost {
		b.take(opened("gpu-b", at, time.Second), at)
	}
	if len(b.recent) != recentMost {
		t.Error(len(b.recent))
	}
}

func TestAStreamThatFollowsIsAskedForAgainOnceItHadCome(t *testing.T) {
	gone := status.Error(codes.Unavailable, "gone")
	for _, c := range []struct {
		name  string
		tries []error // of a control plane that came each time
		asked int
		fails bool
	}{
		{"it never came", []error{gone}, 1, true},
		{"it came, went, and ended", []error{nil, gone, gone, nil}, 4, false},
		{"it refuses", []error{status.Error(codes.PermissionDenied, "no")}, 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var stderr bytes.Buffer
			e, asked := &env{stderr: &stderr, timeout: time.Second}, 0
			err := e.again(t.Context(), e.away, func() (bool, error) {
				asked++
				if c.name == "it came, went, and ended" && asked == 1 {
					return true, gone
				}
				return false, c.tries[asked-1]
			})
			if (err != nil) != c.fails || asked != c.asked {
				t.Errorf("%s: asked %d times, %v", c.name, asked, err)
			}
		})
	}
}

func TestAnInterruptEndsTheWaitForAControlPlane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithTimeout(t.Context(), 5*time.Second+time.Millisecond)
		defer interrupt()
		var stderr bytes.Buffer
		e, asked := &env{stderr: &stderr}, 0
		err := e.again(ctx, e.away, func() (bool, error) {
			asked++
			return asked == 1, status.Error(codes.Unavailable, "gone")
		})
		if err != nil || asked != 3 { // after 0, 1 and 3 s
			t.Errorf("asked %d times, %v", asked, err)
		}
	})
}
