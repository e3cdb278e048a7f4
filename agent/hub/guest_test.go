package hub

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// welcome lets everybody in as one guest.
func welcome(g Guest) func(*Config) {
	return func(c *Config) {
		c.Authorize = func(context.Context, *pb.Hello) (Guest, error) { return g, nil }
	}
}

// Rule 4: who a child is comes from its connection, never from the message.
func TestRule4AHelloThatClaimsMoreThanItsConnectionMayIsRefused(t *testing.T) {
	fleetOnly := &pb.Subscribe{View: 1, All: true, FleetOnly: true}
	for _, c := range []struct {
		name  string
		guest Guest
		hello *pb.Hello
		want  codes.Code
	}{
		{"a leaf that says it is a relay", Guest{Identity: "app"}, relayOf("n"), codes.PermissionDenied},
		{"an agent of another node", Guest{Node: "m", Relay: true}, relayOf("n"), codes.PermissionDenied},
		{"a leaf that wants what a replica gets", Guest{Identity: "app"}, &pb.Hello{Leaf: "l", Subscribe: fleetOnly}, codes.PermissionDenied},
		{"an agent that does", Guest{Node: "n", Relay: true}, &pb.Hello{Leaf: "n", Node: "n", Relay: true, Subscribe: fleetOnly}, codes.PermissionDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := serve(t, welcome(c.guest), catalogAt(1, rows{"a": "1"}))
				defer w.stop()
				v := w.visit(c.hello)
				defer v.leave()
				if got := status.Code(v.ended()); got != c.want {
					t.Errorf("ended with %v, want %v", got, c.want)
				}
				if len(v.updates()) > 0 || len(w.asked()) > 0 {
					t.Error("something was served to it")
				}
			})
		})
	}
}

// Rule 4: a view is on behalf of the connection's identity, whatever a leaf says.
func TestRule4AViewByAForgedIdentityIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, welcome(Guest{Identity: "mallory"}), catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		alices := View{Selector: everything.Selector, Identity: "alice"}
		w.mu.Lock()
		w.states[alices.Key()] = append(w.states[alices.Key()], catalogAt(1, rows{"secret": "1"}))
		w.mu.Unlock()
		v := w.visit(&pb.Hello{Leaf: "l", Subscribe: &pb.Subscribe{View: 1, All: true, Identity: "alice"}})
		defer v.leave()
		if got := v.updates(); len(got) != 0 {
			t.Errorf("sent %v", got)
		}
		if asked := w.asked(); len(asked) != 1 || asked[0] != `+"mallory" *` {
			t.Errorf("asked for %v", asked)
		}
	})
}

// Permissions are checked again every 30 s (control-plane.md, who may do what).
func TestALiveStreamIsAskedForAgainEach30S(t *testing.T) {
	var code atomic.Uint32
	for _, c := range []struct {
		name string
		then codes.Code
		ends bool
	}{
		{"a token that was revoked", codes.PermissionDenied, true},
		{"a certificate that ran out", codes.Unauthenticated, true},
		{"who cannot say does no harm", codes.Unavailable, false},
		{"nothing has changed", codes.OK, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				code.Store(uint32(codes.OK))
				var asked atomic.Int32
				w := serve(t, func(config *Config) {
					config.Authorize = func(_ context.Context, m *pb.Hello) (Guest, error) {
						asked.Add(1)
						return Guest{Identity: m.Leaf}, status.Error(codes.Code(code.Load()), "so it is")
					}
				})
				defer w.stop()
				v := w.visit(helloOf("l"))
				defer v.leave()
				code.Store(uint32(c.then))
				time.Sleep(25 * time.Second)
				v.alive()
				if asked.Load() != 1 {
					t.Fatalf("asked %d times in 25 s", asked.Load())
				}
				time.Sleep(6 * time.Second)
				if asked.Load() != 2 {
					t.Errorf("asked %d times in 31 s, want 2", asked.Load())
				}
				if c.ends {
					if got := status.Code(v.ended()); got != c.then {
						t.Errorf("ended with %v", got)
					}
					return
				}
				if len(w.hub.children) != 1 {
					t.Error("the stream was ended")
				}
			})
		})
	}
}

func TestAStreamWhoseIdentityChangedComesInAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tenant atomic.Value
		tenant.Store("a")
		w := serve(t, func(c *Config) {
			c.Authorize = func(context.Context, *pb.Hello) (Guest, error) { return Guest{Identity: tenant.Load().(string)}, nil }
		})
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		tenant.Store("b")
		time.Sleep(15 * time.Second)
		v.alive()
		time.Sleep(16 * time.Second)
		if got := status.Code(v.ended()); got != codes.Aborted {
			t.Errorf("ended with %v", got)
		}
	})
}

// An agent speaks for its own node, and for leaves there.
func TestAnAgentThatClaimsAnotherNodeIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, func(c *Config) {
			c.Authorize = func(_ context.Context, m *pb.Hello) (Guest, error) { return Guest{Node: m.Node, Relay: m.Relay}, nil }
		}, catalogAt(1, rows{"e": "1"}))
		defer w.stop()
		honest, liar := w.visit(relayOf("n1")), w.visit(relayOf("n2"))
		defer honest.leave()
		defer liar.leave()
		honest.report(&pb.Report{States: []*pb.LeafState{{Leaf: "l", Node: "n1", Incarnation: 5}}})
		time.Sleep(2 * time.Second)
		w.passed()
		liar.report(&pb.Report{
			Leaves: []*pb.LeafReport{{Leaf: "x", Node: "n1", Sequence: 1}, {Leaf: "l", Incarnation: 9, Sequence: 1}},
			States: []*pb.LeafState{{Leaf: "y", Node: "n3"}, {Leaf: "l", Node: "n2", Incarnation: 9, Gone: true}},
			Nodes:  []*pb.NodeReport{{Node: "n1", Sequence: 1}},
		})
		time.Sleep(2 * time.Second)
		if got := w.passed(); len(got.Leaves)+len(got.States)+len(got.Nodes) > 0 {
			t.Errorf("passed up %v", got)
		}
		if got := w.hub.Figures().Dropped; got != 5 {
			t.Errorf("%d were dropped, want 5", got)
		}
		if known := w.hub.Leaves(); len(known) != 1 || known[0].Via != "n1" || known[0].Incarnation != 5 {
			t.Errorf("known: %v", known)
		}
	})
}
