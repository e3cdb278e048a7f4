package rpc

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestTheAuditSaysWhoDidWhatAndItsHashesAreAChain(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	if _, err := w.drain(t, "chat-a"); err != nil {
		t.Fatal(err)
	}
	stream, err := w.operator.ListAudit(t.Context(), &pb.ListAuditRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	hash := ""
	for {
		m, err := stream.Recv()
		if err != nil {
			break
		}
		r := m.GetRecord()
		got = append(got, fmt.Sprintf("%s %s %s", r.GetActor(), r.GetVerb(), r.GetSubject()))
		if before := hex.EncodeToString(r.GetPreviousHash()); before != hash {
			t.Errorf("record %d is after %s, the one before is %s", r.GetNumber(), before, hash)
		}
		hash = hex.EncodeToString(m.GetHash())
	}
	if diff := cmp.Diff([]string{"ann publish ", "ann drain chat-a"}, got); diff != "" {
		t.Error(diff)
	}
	v, err := w.operator.VerifyAudit(t.Context(), &pb.VerifyAuditRequest{})
	if err != nil || v.GetFault() != "" || v.GetRecords() != 2 || hex.EncodeToString(v.GetHash()) != hash {
		t.Error(v, err)
	}
}

func TestTheAuditIsListedByActor(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	stream, err := w.operator.ListAudit(t.Context(), &pb.ListAuditRequest{Actor: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); err == nil {
		t.Error(m)
	}
}

func TestAStoreIsAdoptedForAReason(t *testing.T) {
	w := newWorld(t)
	before := w.publish(t, 0, sources("1.00", "chat")).GetHead()
	_, err := w.operator.AdoptStore(t.Context(), &pb.AdoptStoreRequest{})
	wantCode(t, err, codes.InvalidArgument, "a reason is needed")
	got, err := w.operator.AdoptStore(t.Context(), &pb.AdoptStoreRequest{Reason: "restored"})
	if err != nil || got.GetEpoch() <= before.GetEpoch() {
		t.Error(got, err)
	}
}

func TestACheckNamesWhatOfTheFleetWillHurtLater(t *testing.T) {
	forever := &pb.Override{Endpoint: "a", What: &pb.Override_Breaker{Breaker: &pb.ForcedBreaker{}}, Reason: "trying"}
	for _, c := range []struct {
		name   string
		status *pb.StatusResponse
		want   []string
	}{
		{"nothing", &pb.StatusResponse{Leader: &pb.Leader{}}, nil},
		{"alarms", &pb.StatusResponse{Leader: &pb.Leader{}, Alarms: []string{"store_regressed"}}, []string{"ERROR alarm: store_regressed"}},
		{"leaves", &pb.StatusResponse{Leader: &pb.Leader{}, Leaves: 9, Behind: make([]*pb.ClientInfo, 2)}, []string{"WARNING 2 of 9 leaves do not run what is served"}},
		{"leaves that just heard", &pb.StatusResponse{Head: &pb.Head{Time: timestamppb.Now()}, Leader: &pb.Leader{}, Leaves: 9, Behind: make([]*pb.ClientInfo, 2)}, nil},
		{"overrides", &pb.StatusResponse{Leader: &pb.Leader{}, Overrides: []*pb.Override{{DurationUs: 1}, forever}}, []string{`WARNING an override of endpoint "a" has no end: trying`}},
	} {
		var got []string
		for _, f := range fleetFindings(c.status) {
			got = append(got, f.GetSeverity().String()[len("SEVERITY_"):]+" "+f.GetSummary())
			if f.GetRemedy() == "" {
				t.Errorf("%s: nothing to do about %q", c.name, f.GetSummary())
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestACheckHasTheStoresFindingsAndTheFleets(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	w.with = func(l *Live) {
		l.Alarms, l.Reaches = []string{"clock: 3 s off"}, map[string]Reach{"chat-a": {Reached: 3}, "chat-b": {Reached: 2, Unreached: 1, Reason: "refused"}}
	}
	got, err := w.operator.Check(t.Context(), &pb.CheckRequest{})
	if err != nil || len(got.GetFindings()) == 0 {
		t.Fatal(got, err)
	}
	all := got.GetFindings()
	if first, last := all[0].GetSummary(), all[len(all)-1].GetSummary(); first != "alarm: clock: 3 s off" ||
		last != `1 of 3 nodes do not reach endpoint "chat-b": refused` {
		t.Errorf("the worst first, then all else: %q, %q", first, last)
	}
}

func TestAnAlarmThatTheStoreFoundIsToldOnce(t *testing.T) {
	found := []*pb.CheckFinding{{Summary: "store_regressed: generation 7 is held elsewhere"}}
	more := fleetFindings(&pb.StatusResponse{Alarms: []string{"store_regressed: publishes are refused", "clock: 3 s off"}})
	if got := besides(found, more); len(got) != 1 || got[0].GetSummary() != "alarm: clock: 3 s off" {
		t.Error(got)
	}
}

func TestWhatWasNotGivenOrRevokedIsSaidInPeoplesWords(t *testing.T) {
	w := newWorld(t)
	_, err := w.operator.Unrevoke(t.Context(), &pb.UnrevokeRequest{Subject: "token/ci"})
	wantCode(t, err, codes.NotFound, "token/ci is not revoked: `pointsman role list` lists what is")
	_, err = w.operator.GrantRole(t.Context(), &pb.GrantRoleRequest{Identity: "cn/ada"})
	wantCode(t, err, codes.NotFound, "cn/ada has no role of its own: `pointsman role list` lists who has")
}
