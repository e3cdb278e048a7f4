package hub

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Rule 10: heartbeats come before there is anything to serve, and the first state after them.
func TestRule10HeartbeatsComeBeforeThereIsAnyState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		beats := 0
		for range 6 {
			time.Sleep(10 * time.Second)
			for _, m := range v.heard() {
				if m.GetHeartbeat() == nil {
					t.Fatalf("heard %v", m)
				}
				beats++
			}
			v.alive()
		}
		if beats < 6 {
			t.Errorf("%d heartbeats in a minute", beats)
		}
		w.hub.PublishUrgent(everything, catalogAt(1, rows{"a": "1"}))
		v.took(v.update())
	})
}

// Rule 7: six hours of children that come and go, two states close together each 20 s, and a
// child that was there from the beginning: nothing stops, and no update waits for its ack.
func TestRule7SixHoursOfChurnStopNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		old := w.visit(helloOf("old"))
		defer old.leave()
		old.took(old.update())
		head := uint64(1)
		for step := range 6 * 3600 / 20 {
			v := w.visit(helloOf(fmt.Sprint("guest", step%50)))
			v.update()
			for range 2 {
				head++
				w.hub.PublishUrgent(everything, catalogAt(head, rows{"a": fmt.Sprint(head)}))
				synctest.Wait()
			}
			old.took(old.update()) // the second waited for that
			old.took(old.update())
			v.leave()
			time.Sleep(20 * time.Second)
			if u := old.updates(); u != nil {
				t.Fatalf("step %d: sent %v beyond head", step, u)
			}
			old.alive()
			w.told()
			w.passed()
			if f := w.hub.Figures(); f.Oldest != 0 || f.Children != 1 {
				t.Fatalf("step %d: an update waits for %d µs, %d children", step, f.Oldest, f.Children)
			}
		}
	})
}

// States come back to back, of a view that is new and of one that is not, from several sides at
// once: whoever is served is at head in the end.
func TestStatesBackToBackWhileViewsAreNewHoldNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		good := w.visit(helloOf("good"))
		defer good.leave()
		u := good.update()
		for g := uint64(2); g < 40; g += 2 {
			good.took(u)
			var wg sync.WaitGroup
			for next := g; next < g+2; next++ {
				wg.Go(func() { w.hub.PublishUrgent(everything, catalogAt(next, rows{"a": fmt.Sprint(next)})) })
			}
			v := w.visit(&pb.Hello{Leaf: "new", Subscribe: &pb.Subscribe{View: 1, Workloads: []string{fmt.Sprint(g)}}})
			wg.Wait()
			v.leave()
			for u = good.update(); u.Version.Generation < g+1; u = good.update() {
				good.took(u)
			}
		}
	})
}

// Children come and go on real goroutines, while states, grants and questions are sent and all is
// counted: what they share is never touched by two at once. The race detector sees more of it.
func TestChildrenThatComeAndGoWhileAllIsSentShareNothing(t *testing.T) {
	listener := bufconn.Listen(1 << 20)
	source := &origin{}
	h := New(Config{Source: source, Now: func() int64 { return time.Now().UnixMicro() }, Up: func(int64, *pb.Report) {}})
	source.hub = h
	server := grpc.NewServer()
	h.Register(server)
	ctx, cancel := context.WithCancel(t.Context())
	var serving, storm sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	serving.Go(func() { _ = h.Run(ctx) })
	conn, err := grpc.NewClient("passthrough:hub", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	for child := range 8 {
		storm.Go(func() {
			for range 50 {
				comeAndGo(ctx, conn, fmt.Sprint(child))
			}
		})
	}
	for range 2 {
		storm.Go(func() {
			for g := range uint64(1000) {
				h.PublishUrgent(everything, catalogAt(g+1, rows{"a": fmt.Sprint(g)}))
				h.Grant(h.now(), &pb.Grant{Leaf: "1", What: &pb.Grant_Permit{Permit: &pb.Permit{Endpoint: "a", UseByUs: 1e6}}})
				h.Leaves()
				h.Figures()
			}
		})
	}
	storm.Wait()
	_ = conn.Close()
	cancel()
	h.wg.Wait()
	server.Stop()
	serving.Wait()
	if f := h.Figures(); f.Children != 0 || f.Joined < 200 {
		t.Errorf("%d children are left, %d had come", f.Children, f.Joined)
	}
}

// comeAndGo says hello, takes what comes first, and goes.
func comeAndGo(ctx context.Context, conn grpc.ClientConnInterface, leaf string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := pb.NewSyncServiceClient(conn).Sync(ctx)
	if err != nil {
		return
	}
	_ = stream.Send(&pb.SyncRequest{Sequence: 1, Message: &pb.SyncRequest_Hello{Hello: helloOf(leaf)}})
	_, _ = stream.Recv()
}
