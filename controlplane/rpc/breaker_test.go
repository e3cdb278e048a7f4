package rpc

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// line is a breaker in one line.
func line(b *pb.BreakerInfo) string {
	f := b.GetBreaker()
	text := fmt.Sprintf("%s %s %s", b.GetEndpoint(), f.GetClass(), f.GetState())
	text = strings.NewReplacer("CLASS_", "", "BREAKER_STATE_", "").Replace(text)
	if f.GetLocality() != "" {
		text += " in " + f.GetLocality()
	}
	if b.Forced != nil {
		text += fmt.Sprintf(" forced open=%v", b.Forced.GetOpen())
	}
	if b.GetEvidence() != "" {
		text += ": " + b.GetEvidence()
	}
	return text
}

func linesOf(all []*pb.BreakerInfo) []string {
	var out []string
	for _, b := range all {
		out = append(out, line(b))
	}
	return out
}

func TestABreakerIsListedWithItsEvidenceAndWhatIsLeftOfItsTime(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	w.with = func(l *Live) {
		l.Fleet, l.Evidence = openAt(t, l.Catalog, "chat-b"), map[string][]string{"chat-b": {"any in eu, round 3: no", "any, round 1: 3 of 4 nodes: 500"}}
	}
	r, err := w.fleet.ListBreakers(t.Context(), &pb.ListBreakersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"chat-b ANY OPEN: 3 of 4 nodes: 500"}, linesOf(r.GetBreakers())); diff != "" {
		t.Fatal(diff)
	}
	if left := r.GetBreakers()[0].GetBreaker().GetOpenUs(); left != 10e6 { // 11 s, a second ago
		t.Errorf("%d µs left", left)
	}
}

func TestAForcedBreakerIsListedThoughTheFleetSaysNothingOfIt(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	until := timestamppb.New(time.Now().Add(time.Hour))
	w.with = func(l *Live) {
		l.Fleet = openAt(t, l.Catalog, "chat-b")
		for _, o := range []*pb.SetOverrideRequest{forced("chat-a", true), forced("chat-b", false)} {
			l.Overrides = append(l.Overrides, &pb.StoredOverride{Override: o.GetOverride(), Until: until})
		}
		l.Overrides = append(l.Overrides, &pb.StoredOverride{Override: forced("chat-c", true).GetOverride(), Until: &timestamppb.Timestamp{Seconds: 1}})
	}
	r, err := w.fleet.ListBreakers(t.Context(), &pb.ListBreakersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	at := until.AsTime().Format("2006-01-02 15:04:05Z")
	if diff := cmp.Diff([]string{
		"chat-a ANY CLOSED forced open=true: by ann until " + at + ": test",
		"chat-b ANY OPEN forced open=false: by ann until " + at + ": test",
	}, linesOf(r.GetBreakers())); diff != "" {
		t.Fatal(diff)
	}
}

// told is what a watch says of breakers that are so now.
func (w watch) told(now int64, all ...*pb.BreakerInfo) []string {
	return linesOf(w.news(now, all, func() []*pb.BreakerInfo { return nil }))
}

func at(state pb.BreakerState, round uint64, open time.Duration) *pb.BreakerInfo {
	return &pb.BreakerInfo{Endpoint: "a", Breaker: &pb.FleetBreaker{
		Class: pb.Class_CLASS_ANY, State: state, Round: round, OpenUs: open.Microseconds(),
	}}
}

func TestAWatchTellsEachChangeOnce(t *testing.T) {
	const open, half, shut = pb.BreakerState_BREAKER_STATE_OPEN, pb.BreakerState_BREAKER_STATE_HALF_OPEN, pb.BreakerState_BREAKER_STATE_CLOSED
	second := time.Second.Microseconds()
	w := watch{}
	for i, step := range []struct {
		now  int64
		is   []*pb.BreakerInfo
		want []string
	}{
		{0, []*pb.BreakerInfo{at(shut, 0, 0)}, nil}, // what is closed is not told at first
		{0, []*pb.BreakerInfo{at(open, 1, 5*time.Second)}, []string{"a ANY OPEN"}},
		{second, []*pb.BreakerInfo{at(open, 1, 4*time.Second)}, nil}, // time passed, no more
		{2 * second, []*pb.BreakerInfo{at(open, 1, 9*time.Second)}, []string{"a ANY OPEN"}},
		{20 * second, []*pb.BreakerInfo{at(open, 1, 0)}, nil}, // it ran out, and nobody judges
		{21 * second, []*pb.BreakerInfo{at(half, 1, 0)}, []string{"a ANY HALF_OPEN"}},
		{22 * second, []*pb.BreakerInfo{at(open, 2, 0)}, []string{"a ANY OPEN"}},
		{23 * second, []*pb.BreakerInfo{at(shut, 2, 0)}, []string{"a ANY CLOSED"}},
		{24 * second, []*pb.BreakerInfo{at(shut, 2, 0)}, nil},
		{24 * second, nil, nil}, // what closed before it went away
		{25 * second, []*pb.BreakerInfo{at(open, 3, 0)}, []string{"a ANY OPEN"}},
		{26 * second, nil, []string{"a ANY CLOSED"}}, // the endpoint went away
		{27 * second, nil, nil},
	} {
		if diff := cmp.Diff(step.want, w.told(step.now, step.is...)); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}

func TestAWatchTakesEvidenceOfTheSameStateOnly(t *testing.T) {
	w := watch{}
	evident := func(state pb.BreakerState, why string) func() []*pb.BreakerInfo {
		b := at(state, 1, 0)
		b.Evidence = why
		return func() []*pb.BreakerInfo { return []*pb.BreakerInfo{b} }
	}
	got := linesOf(w.news(0, []*pb.BreakerInfo{at(pb.BreakerState_BREAKER_STATE_OPEN, 1, 0)}, evident(pb.BreakerState_BREAKER_STATE_OPEN, "why")))
	got = append(got, linesOf(w.news(0, []*pb.BreakerInfo{at(pb.BreakerState_BREAKER_STATE_RAMP, 1, 0)}, evident(pb.BreakerState_BREAKER_STATE_OPEN, "old")))...)
	if diff := cmp.Diff([]string{"a ANY OPEN: why", "a ANY RAMP"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAWatchSendsWhatIsAndThenWhatChanges(t *testing.T) {
	var shut atomic.Bool
	changed := make(chan struct{})
	w := newWorld(t, func(c *Config) { c.Changed = func() <-chan struct{} { return changed } })
	w.publish(t, 0, sources("1.00", "chat"))
	w.with = func(l *Live) {
		if !shut.Load() {
			l.Fleet = openAt(t, l.Catalog, "chat-b")
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	stream, err := w.fleet.WatchBreakers(ctx, &pb.WatchBreakersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"chat-b ANY OPEN", "chat-b ANY CLOSED"} {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if got := line(m.GetBreaker()); got != want || m.GetTime() == nil {
			t.Errorf("%s at %v, want %s", got, m.GetTime(), want)
		}
		shut.Store(true)
	}
}

func TestAWatchAtAReplicaThatDoesNotLeadHasTheLeadersEvidence(t *testing.T) {
	leader := newWorld(t)
	leader.publish(t, 0, sources("1.00", "chat"))
	leader.with = func(l *Live) {
		l.Leads, l.Fleet, l.Evidence = true, openAt(t, l.Catalog, "chat-b"), map[string][]string{"chat-b": {"any, round 1: 3 of 4 nodes"}}
	}
	w := newWorld(t, func(c *Config) {
		c.Leader = func() (grpc.ClientConnInterface, bool) { return leader.conn, true }
	})
	w.publish(t, 0, sources("1.00", "chat"))
	w.with = func(l *Live) { l.Fleet = openAt(t, l.Catalog, "chat-b") }
	stream, err := w.fleet.WatchBreakers(t.Context(), &pb.WatchBreakersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.Recv()
	if err != nil || line(m.GetBreaker()) != "chat-b ANY OPEN: 3 of 4 nodes" {
		t.Error(m, err)
	}
}

func TestAWatchEndsWithItsReplica(t *testing.T) {
	stopping := make(chan struct{})
	w := newWorld(t, func(c *Config) { c.Stopping = stopping })
	w.publish(t, 0, sources("1.00", "chat"))
	stream, err := w.fleet.WatchBreakers(t.Context(), &pb.WatchBreakersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Header(); err != nil { // it is watched
		t.Fatal(err)
	}
	close(stopping)
	_, err = stream.Recv()
	wantCode(t, err, codes.Unavailable, "stops")
}

func TestMoreWatchersThanThereIsRoomForAreRefused(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range maxStreams {
		stream, err := w.fleet.WatchBreakers(ctx, &pb.WatchBreakersRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Header(); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := w.fleet.WatchBreakers(t.Context(), &pb.WatchBreakersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantCode(t, err, codes.ResourceExhausted, "64 streams")
}
