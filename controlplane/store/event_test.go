package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func happened(at time.Time, endpoint string) *pb.FleetEvent {
	return &pb.FleetEvent{Time: timestamppb.New(at), Kind: "opened", Endpoint: endpoint}
}

func events(t *testing.T, s *Store, q EventQuery) []string {
	t.Helper()
	got, err := s.Events(t.Context(), ns, q)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range got {
		out = append(out, fmt.Sprintf("%d %s", e.GetNumber(), e.GetEndpoint()))
	}
	return out
}

func TestEventsAreNumberedInOrderAndAskedForByTimeOrNumber(t *testing.T) {
	s := open(t)
	tenure := leads(t, s, "a")
	hour := func(h int) time.Time { return t0.Add(time.Duration(h) * time.Hour) }
	for _, batch := range [][]*pb.FleetEvent{
		{happened(hour(0), "a"), happened(hour(0), "b")}, {happened(hour(1), "c")}, {happened(hour(2), "d"), happened(hour(3), "e")}, {happened(hour(4), "f")},
	} {
		if err := s.AppendEvents(t.Context(), ns, tenure, batch); err != nil {
			t.Fatal(err)
		}
		if batch[0].GetTerm() != tenure.Term() {
			t.Fatal(batch[0])
		}
	}
	for _, c := range []struct {
		name string
		q    EventQuery
		want []string
	}{
		{"all", EventQuery{}, []string{"1 a", "2 b", "3 c", "4 d", "5 e", "6 f"}},
		{"after one within a batch", EventQuery{After: 1}, []string{"2 b", "3 c", "4 d", "5 e", "6 f"}},
		{"two of them", EventQuery{After: 1, Limit: 2}, []string{"2 b", "3 c"}},
		{"since, within a batch", EventQuery{Since: hour(3)}, []string{"5 e", "6 f"}},
		{"since, and after", EventQuery{Since: hour(1), After: 4}, []string{"5 e", "6 f"}},
		{"since the last and a minute", EventQuery{Since: hour(4).Add(time.Minute)}, []string{}},
		{"after the last", EventQuery{After: 6}, []string{}},
	} {
		if diff := cmp.Diff(c.want, events(t, s, c.q)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestABatchOfEventsWhoseAnswerWasLostIsNotAppendedTwice(t *testing.T) {
	s := open(t)
	tenure := leads(t, s, "a")
	s.client.KV = &lossy{KV: s.client.KV}
	if err := appendOne(t, s, tenure, "a"); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, s, "a")
}

func TestManyEventsAtOnceAreKeptInSeveralBatches(t *testing.T) {
	s := open(t)
	tenure := leads(t, s, "a")
	var many []*pb.FleetEvent
	for i := range 2*maxEventBatch + 1 {
		many = append(many, happened(t0, fmt.Sprint(i)))
	}
	if err := s.AppendEvents(t.Context(), ns, tenure, many); err != nil {
		t.Fatal(err)
	}
	got, err := s.client.Get(t.Context(), keys(root+ns+"/").events(), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || got.Count != 3 {
		t.Fatalf("%d batches: %v", got.Count, err)
	}
	all := events(t, s, EventQuery{})
	if len(all) != len(many) || all[len(all)-1] != fmt.Sprintf("%d %d", len(many), len(many)-1) {
		t.Fatalf("%d events, the last %q", len(all), all[len(all)-1])
	}
}

func TestEventsAreKeptForThreeDays(t *testing.T) {
	s := open(t)
	tenure := leads(t, s, "a")
	for i := range 10 {
		if err := s.AppendEvents(t.Context(), ns, tenure, []*pb.FleetEvent{happened(t0.Add(time.Duration(i)*time.Hour), fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{72 * time.Hour, 10}, {75*time.Hour + time.Minute, 6}, {200 * time.Hour, 0}} {
		if err := s.Tend(t.Context(), ns, tenure, Keep{Now: t0.Add(c.after)}); err != nil {
			t.Fatal(err)
		}
		if got := events(t, s, EventQuery{}); len(got) != c.left {
			t.Fatalf("after %v: %v", c.after, got)
		}
	}
	if err := appendOne(t, s, tenure, "next"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"11 next"}, events(t, s, EventQuery{})); diff != "" {
		t.Fatal(diff)
	}
}
