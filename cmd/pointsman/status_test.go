package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestWhoLeadsInOneLine(t *testing.T) {
	at := timestamppb.New(time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC))
	for want, s := range map[string]*pb.StatusResponse{
		"none: each process goes by its own breakers":                     {},
		"none now; what is known is of term 9, and ages":                  {Term: 9},
		"cp-1 at 10.0.0.1:7400, term 9, since 2026-12-01 03:00:00Z":       {Term: 9, Leader: &pb.Leader{Replica: "cp-1", Address: "10.0.0.1:7400", Term: 9, Since: at}},
		"10.0.0.1:7400, term 9, since 2026-12-01 03:00:00Z: this replica": {Term: 9, Leads: true, Leader: &pb.Leader{Replica: "10.0.0.1:7400", Address: "10.0.0.1:7400", Term: 9, Since: at}},
	} {
		if got := leaderLine(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestThePageIsOnePageWhateverIsWrong(t *testing.T) {
	s := &pb.StatusResponse{Head: &pb.Head{}, StoreReachable: true, Leader: &pb.Leader{}}
	for i := range 1000 {
		name := fmt.Sprint(i)
		open := &pb.FleetEndpoint{Breakers: []*pb.FleetBreaker{{State: pb.BreakerState_BREAKER_STATE_OPEN}}}
		s.Behind = append(s.Behind, &pb.ClientInfo{State: &pb.LeafState{Leaf: name}, Behind: true})
		s.Open = append(s.Open, &pb.EndpointInfo{Name: name, Fleet: open})
		s.Spent = append(s.Spent, &pb.SpentQuota{Quota: name})
		s.Shedding = append(s.Shedding, &pb.SheddingWorkload{Workload: name})
		s.Overrides = append(s.Overrides, &pb.Override{Endpoint: name})
	}
	var out bytes.Buffer
	printStatus(&out, "default", s)
	if lines := strings.Count(out.String(), "\n"); lines > 150 {
		t.Errorf("%d lines", lines)
	}
	for _, want := range []string{"and 980 more: `pointsman client list -behind`", "and 980 more: `pointsman breaker list`", "1000 leaves not at the head"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in %s", want, out.String())
		}
	}
}

func TestLeavesThatHadNoTimeYetAreSaidToHaveNone(t *testing.T) {
	for want, changed := range map[string]time.Time{
		"look at: 1 leaf not at the head, which changed just now": time.Now(),
		"look at: 1 leaf not at the head":                         time.Now().Add(-time.Hour),
	} {
		s := &pb.StatusResponse{StoreReachable: true, Leader: &pb.Leader{}, Head: &pb.Head{Time: timestamppb.New(changed)}, Behind: make([]*pb.ClientInfo, 1)}
		if got := stateLine(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWhatAnAnswerLacksIsSaidBesideIt(t *testing.T) {
	var stderr bytes.Buffer
	(&env{stderr: &stderr}).warn(map[string][]string{"pointsman-warning": {"the leader does not answer:\x1b[2J gone"}})
	if got := stderr.String(); got != "warning: the leader does not answer: [2J gone\n" {
		t.Errorf("%q", got)
	}
}
