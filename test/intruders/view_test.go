package intruders

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/cert"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/ca"
)

// ofAcme and ofBeta are what each tenant's view holds.
var (
	ofAcme = []string{"endpoint a", "model m", "provider p", "tenant acme", "workload chat"}
	ofBeta = []string{"endpoint b", "model m", "provider p", "tenant beta", "workload search"}
)

func sees(t *testing.T, conn *grpc.ClientConn, hello *pb.Hello, want []string, why pb.EmptyReason) {
	t.Helper()
	c := join(t, conn, hello)
	names, reason := c.view()
	slices.Sort(names)
	if !slices.Equal(names, want) || reason != why {
		t.Errorf("%q sees %q, %v; want %q, %v", hello.GetLeaf(), names, reason, want, why)
	}
}

func TestAnotherTenantsWorkloadIsNotSeen(t *testing.T) {
	w := newWorld(t)
	acme, beta := w.as(t, "acme"), w.as(t, "beta")
	sees(t, acme, leafHello("acme"), ofAcme, 0)
	sees(t, beta, leafHello("beta"), ofBeta, 0)
	for wanted, why := range map[string]pb.EmptyReason{
		"search": pb.EmptyReason_EMPTY_REASON_PERMISSION,
		"*":      pb.EmptyReason_EMPTY_REASON_PUBLISHED_EMPTY, "b": pb.EmptyReason_EMPTY_REASON_PUBLISHED_EMPTY,
		"chat/../search": pb.EmptyReason_EMPTY_REASON_PUBLISHED_EMPTY,
	} {
		hello := leafHello("acme asks for " + wanted)
		hello.Subscribe = &pb.Subscribe{View: 1, Workloads: []string{wanted}}
		sees(t, acme, hello, nil, why)
	}
	hello := leafHello("acme asks for both")
	hello.Subscribe = &pb.Subscribe{View: 1, Workloads: []string{"chat", "search"}}
	sees(t, acme, hello, ofAcme, 0)
	w.grant(t, "cn/none", "client", "")
	none := w.as(t, "none")
	becomes(t, codes.OK, func() error {
		who, err := whoami(t, none)
		if who.GetRole() == "" {
			return status.Error(codes.Unavailable, "not yet")
		}
		return err
	})
	sees(t, none, leafHello("none"), nil, pb.EmptyReason_EMPTY_REASON_PERMISSION)
}

func TestAForgedHelloGetsNoOthersView(t *testing.T) {
	w := newWorld(t)
	acme := w.as(t, "acme")
	forged := leafHello("forged identity")
	forged.Subscribe.Identity = "cn/beta"
	sees(t, acme, forged, ofAcme, 0)
	forged = leafHello("forged relay")
	forged.Relay, forged.Subscribe.Identity = true, "cn/beta"
	if err := join(t, acme, forged).ended(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a relay: %v", err)
	}
	forged = leafHello("forged replica")
	forged.Subscribe.FleetOnly = true
	if err := join(t, acme, forged).ended(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a replica: %v", err)
	}
	victim := join(t, w.as(t, "beta"), leafHello("victim"))
	victim.view()
	if err := join(t, acme, leafHello("victim")).ended(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("another's name: %v", err)
	}
}

// A relay has the fleet's whole state only as a replica.
func TestAnAgentIsNoReplica(t *testing.T) {
	w := newWorld(t)
	w.grant(t, "cn/node-1", "agent", "")
	conn := w.as(t, "node-1")
	hello := &pb.Hello{Library: "agent", Leaf: "node-1", Node: "node-1", Relay: true, Incarnation: 1, Subscribe: &pb.Subscribe{View: 1, All: true, FleetOnly: true}}
	becomes(t, codes.PermissionDenied, func() error {
		return join(t, conn, hello).ended()
	})
}

func TestAnAgentSpeaksForItsOwnNodeAlone(t *testing.T) {
	w := newWorld(t)
	w.grant(t, "cn/node-1", "agent", "")
	conn := w.as(t, "node-1")
	becomes(t, codes.OK, func() error {
		who, err := whoami(t, conn)
		if who.GetRole() != "agent" {
			return status.Error(codes.Unavailable, "not yet")
		}
		return err
	})
	relay := func(node string) *pb.Hello {
		return &pb.Hello{Library: "agent", Leaf: "agent of " + node, Node: node, Relay: true, Incarnation: 1}
	}
	for _, node := range []string{"node-2", "", "node-1 ", "Node-1"} {
		err := join(t, conn, relay(node)).ended()
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "node-1") {
			t.Errorf("node %q: %v", node, err)
		}
	}
	own := join(t, conn, relay("node-1"))
	own.send(&pb.SyncRequest{Message: &pb.SyncRequest_Subscribe{Subscribe: &pb.Subscribe{View: 1, All: true, Identity: "cn/acme"}}})
	names, _ := own.view()
	if slices.Sort(names); !slices.Equal(names, ofAcme) {
		t.Errorf("on behalf of acme it sees %q", names)
	}
	own.report(&pb.Report{States: []*pb.LeafState{
		{Leaf: "here", Node: "node-1", Identity: "cn/acme", Incarnation: 1, Library: "go"},
		{Leaf: "elsewhere", Node: "node-2", Identity: "cn/acme", Incarnation: 1, Library: "go"},
	}})
	eventually(t, "its leaf is listed", func() bool { return len(w.clients(t)) > 0 })
	for _, c := range w.clients(t) {
		if c.GetState().GetNode() != "node-1" {
			t.Errorf("it speaks for %v", c)
		}
	}
}

func (w *world) clients(t *testing.T) []*pb.ClientInfo {
	t.Helper()
	answer, err := pb.NewFleetServiceClient(w.admin).ListClients(t.Context(), &pb.ListClientsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetClients()
}

// By TLS to an agent a child is whom its certificate names, also upstream.
func TestAnAgentAttestsWhomItSees(t *testing.T) {
	w := newWorld(t)
	w.grant(t, "cn/node-1", "agent", "")
	a := w.startAgent(t, "node-1", "node-1")
	at := a.Addr().String()
	acme := dial(t, at, w.authority.Issue(t, "acme", ca.Leaf{Name: "acme"}), "")
	sees(t, acme, leafHello("acme"), ofAcme, 0)
	forged := leafHello("forged")
	forged.Subscribe.Identity = "cn/beta"
	sees(t, acme, forged, ofAcme, 0)
	forged = leafHello("forged relay")
	forged.Relay = true
	if err := join(t, acme, forged).ended(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a relay below an agent: %v", err)
	}
	if err := statusOf(t, dial(t, at, cert.Files{CA: w.authority.Path()}, "")); status.Code(err) != codes.Unavailable {
		t.Errorf("without a certificate: %v", err)
	}
	if _, err := pb.NewNodeServiceClient(acme).DrainNode(t.Context(), &pb.DrainNodeRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a drain over the network: %v", err)
	}
	records, err := pb.NewRecordServiceClient(acme).ListRecords(t.Context(), &pb.ListRecordsRequest{})
	if err == nil {
		_, err = records.Recv()
	}
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("records over the network: %v", err)
	}
}
