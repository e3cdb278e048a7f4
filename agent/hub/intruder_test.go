package hub

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// An agent's name is its node's, which everybody knows: taking it must not keep the agent out.
func TestWhoTakesAnAgentsNameDoesNotKeepItOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, func(c *Config) {
			c.Authorize = func(_ context.Context, m *pb.Hello) (Guest, error) {
				return Guest{Identity: m.Library, Relay: m.Relay}, nil
			}
		})
		defer w.stop()
		as := func(identity string, m *pb.Hello) *pb.Hello { m.Library = identity; return m }
		for _, m := range []*pb.Hello{as("mallory", helloOf("n1")), as("mallory", relayOf("n1"))} {
			squatter := w.visit(m)
			defer squatter.leave()
			squatter.heard()
		}
		agent := w.visit(as("agent of n1", relayOf("n1")))
		defer agent.leave()
		agent.heard()
		if len(w.hub.named) != 3 {
			t.Errorf("%d are in, want 3", len(w.hub.named))
		}
		again := w.visit(as("agent of n1", relayOf("n1")))
		defer again.leave()
		if got := status.Code(agent.ended()); got != codes.Aborted || len(w.hub.named) != 3 {
			t.Errorf("its own older stream ended with %v, %d are in", got, len(w.hub.named))
		}
	})
}

// What a child holds is kept, and passed on: it is no place for megabytes.
func TestWhatAChildHoldsIsBounded(t *testing.T) {
	long := strings.Repeat("x", 4<<10)
	held := func(h *pb.Held) *pb.Hello { m := helloOf("l"); m.Held = []*pb.Held{h}; return m }
	for name, m := range map[string]*pb.Hello{
		"a store's name":     held(&pb.Held{Version: &pb.Version{StoreId: long}}),
		"one that it nacked": held(&pb.Held{Nacked: &pb.Version{StoreId: long}}),
		"a digest":           held(&pb.Held{Digest: []byte(long)}),
	} {
		if checkHello(m) == nil {
			t.Errorf("%s of %d bytes is taken", name, len(long))
		}
	}
	for name, m := range map[string]*pb.SyncRequest{
		"ack":  {Message: &pb.SyncRequest_Ack{Ack: &pb.Ack{Held: []*pb.Held{{Version: &pb.Version{StoreId: long}}}}}},
		"nack": {Message: &pb.SyncRequest_Nack{Nack: &pb.Nack{Version: &pb.Version{StoreId: long}}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := serve(t, nil)
			defer w.stop()
			v := w.visit(helloOf("l"))
			defer v.leave()
			v.say(m)
			if got := status.Code(v.ended()); got != codes.InvalidArgument {
				t.Errorf("%s: %v", name, got)
			}
		})
	}
	s := &pb.LeafState{Nack: long}
	for i := range 10_000 {
		s.Unusable = append(s.Unusable, &pb.Unusable{Workload: fmt.Sprint(i), Reason: long})
	}
	if fit(s); proto.Size(s) > 2*maxState {
		t.Errorf("%d bytes of one leaf are kept", proto.Size(s))
	}
}

// Who comes under ever new names, and is lost each time, takes nobody's place.
func TestAFullRosterTakesWhoIsThereBeforeWhoWasLost(t *testing.T) {
	r := newRoster()
	a := relayNamed("a")
	for i := range maxLeaves {
		r.set(a, &pb.LeafState{Leaf: fmt.Sprint(i)}, 1)
	}
	b := relayNamed("b")
	if r.set(b, &pb.LeafState{Leaf: "one more"}, 1); r.leaves["one more"] != nil {
		t.Error("there is no bound")
	}
	r.lost(a, false)
	r.set(b, &pb.LeafState{Leaf: "honest"}, 1)
	if r.leaves["honest"] == nil || len(r.leaves) != maxLeaves {
		t.Errorf("%d are known", len(r.leaves))
	}
}

// Whoever can shake hands, as nobody, must not keep connections that nothing is asked over.
func TestAConnectionWithoutACallEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bufconn.Listen(1 << 16)
		server := grpc.NewServer(ServerOptions()...)
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(l) })
		conn, err := grpc.NewClient("passthrough:hub", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithIdleTimeout(0),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		conn.Connect()
		time.Sleep(idleWithin - time.Second)
		if s := conn.GetState(); s != connectivity.Ready {
			t.Errorf("it is %v too early", s)
		}
		time.Sleep(10 * time.Second)
		if s := conn.GetState(); s == connectivity.Ready {
			t.Error("it is there for ever")
		}
		conn.Close()
		server.Stop()
		serving.Wait()
	})
}

// A leaf has one view: thousands, each of many names, are an attack.
func TestALeafHasFewViewsAndEachIsOfASaneIdentity(t *testing.T) {
	for name, c := range map[string]struct {
		hello *pb.Hello
		asks  func(i int) *pb.Subscribe
		good  int
		want  codes.Code
	}{
		"a leaf":                          {helloOf("l"), func(i int) *pb.Subscribe { return &pb.Subscribe{View: uint32(i + 10)} }, maxLeafViews - 1, codes.ResourceExhausted},
		"a relay for a monster of a name": {relayOf("n"), func(int) *pb.Subscribe { return &pb.Subscribe{View: 9, Identity: strings.Repeat("x", maxName+1)} }, 0, codes.InvalidArgument},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := serve(t, nil)
			defer w.stop()
			v := w.visit(c.hello)
			defer v.leave()
			for i := range c.good + 1 {
				if v.heard(); len(v.err) > 0 {
					t.Fatalf("%s: ended at %d", name, i)
				}
				v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Subscribe{Subscribe: c.asks(i)}})
			}
			if got := status.Code(v.ended()); got != c.want {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		})
	}
}
