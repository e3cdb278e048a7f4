package main

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/agent/journal"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// happening is what the control plane of stories kept: times that no -since reaches are as good as others there.
var happening = []*pb.FleetEvent{
	{Number: 1, Kind: "leader", Name: "cp-2", Evidence: "cp-1 was not heard of for 5s"},
	{Number: 2, Kind: "opened", Endpoint: "gpu-b", Class: pb.Class_CLASS_ANY, Locality: "eu/west", Round: 7, Evidence: "3 of 3 nodes, 20 of 20 failed"},
	{Number: 3, Kind: "opened", Endpoint: "gpu-a", Class: pb.Class_CLASS_LONG, Round: 1, Soft: true, Evidence: "2 of 3 nodes\x1b[2J"},
	{Number: 4, Kind: "spilling", Name: "chat", Evidence: "31 % went below the first tier"},
}

func (w *world) ListEvents(q *pb.ListEventsRequest, stream pb.FleetService_ListEventsServer) error {
	for i, ev := range happening {
		ev = proto.CloneOf(ev)
		ev.Time = timestamppb.New(time.Date(2026, 12, 1, 3, 4, i, 0, time.UTC))
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, ev.Kind) || q.Endpoint != "" && q.Endpoint != ev.Endpoint {
			continue
		}
		if err := stream.Send(&pb.ListEventsResponse{Event: ev}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) ListAudit(q *pb.ListAuditRequest, stream pb.OperatorService_ListAuditServer) error {
	at := timestamppb.New(time.Date(2026, 12, 1, 3, 4, 5, 0, time.UTC))
	for _, r := range []*pb.AuditRecord{
		{Number: 1, Time: at, Actor: "token/ci", Verb: "publish", Generation: 1, Revision: 1, Reason: "first"},
		{Number: 2, Time: at, Actor: "uid/0 (ada)", Verb: "drain", Subject: "gpu-b", Generation: 2, Reason: "new\ndriver"},
	} {
		if q.Actor != "" && q.Actor != r.Actor {
			continue
		}
		if err := stream.Send(&pb.ListAuditResponse{Record: r, Hash: []byte{1, 2}}); err != nil {
			return err
		}
	}
	return nil
}

// VerifyAudit finds a fault once something was published.
func (w *world) VerifyAudit(context.Context, *pb.VerifyAuditRequest) (*pb.VerifyAuditResponse, error) {
	v := &pb.VerifyAuditResponse{Records: 2, First: 1, Last: 2, Hash: []byte{0xab, 0xcd}}
	if w.head.Generation > 0 {
		v.Fault = "record 2 does not have the hash of record 1"
	}
	return v, nil
}

// Check finds more once something was published.
func (w *world) Check(context.Context, *pb.CheckRequest) (*pb.CheckResponse, error) {
	answer := &pb.CheckResponse{Findings: []*pb.CheckFinding{
		{Severity: pb.Severity_SEVERITY_WARNING, Summary: "etcd was never compacted", Remedy: "set --auto-compaction-retention=1h"},
	}}
	if w.head.Generation > 0 {
		answer.Findings = append(answer.Findings, &pb.CheckFinding{Severity: pb.Severity_SEVERITY_ERROR, Summary: "etcd has no space left"})
	}
	return answer, nil
}

func (w *world) AdoptStore(context.Context, *pb.AdoptStoreRequest) (*pb.AdoptStoreResponse, error) {
	return &pb.AdoptStoreResponse{Epoch: w.head.Epoch + 1}, nil
}

// node is an agent whose control plane is lost.
type node struct {
	pb.UnimplementedNodeServiceServer
	drains []*pb.Override
}

func (n *node) DrainNode(_ context.Context, q *pb.DrainNodeRequest) (*pb.DrainNodeResponse, error) {
	if q.Endpoint == "gpu-c" {
		return nil, status.Errorf(codes.NotFound, "the catalog of this node has no endpoint %q", q.Endpoint)
	}
	n.drains = append(n.drains, &pb.Override{
		Endpoint: q.Endpoint, What: &pb.Override_Drain{Drain: &pb.Drain{}}, Actor: q.Actor, Reason: q.Reason, DurationUs: q.DurationUs,
	})
	return &pb.DrainNodeResponse{}, nil
}

func (n *node) UndrainNode(_ context.Context, q *pb.UndrainNodeRequest) (*pb.UndrainNodeResponse, error) {
	n.drains = slices.DeleteFunc(n.drains, sameKind(q.Endpoint, "drain"))
	return &pb.UndrainNodeResponse{}, nil
}

func (n *node) NodeStatus(context.Context, *pb.NodeStatusRequest) (*pb.NodeStatusResponse, error) {
	return &pb.NodeStatusResponse{
		Node: "node-1", ParentError: "dial tcp 10.0.0.2:7400: connection refused", Drains: n.drains,
		Heads:  []*pb.HeadAge{{Track: pb.Track_TRACK_CATALOG, Generation: 4, AgeUs: 95_000_000}, {Track: pb.Track_TRACK_FLEET, AgeUs: 31_000_000}},
		Leaves: []*pb.LeafState{{Leaf: "chat-1", Node: "node-1", Library: "go", LibraryVersion: "0.1", Version: &pb.Version{Generation: 4}, AgeUs: 900_000}},
		Engines: []*pb.EngineLoad{
			{Endpoint: "gpu-a", Running: proto.Float64(12), Waiting: proto.Float64(0), KvUsed: proto.Float64(0.43), OutputTps: proto.Float64(1234.5)},
			{Endpoint: "gpu-b"},
		},
		Reaches: []*pb.Reach{{Endpoint: "gpu-a", Reached: true, ConnectUs: 830}, {Endpoint: "gpu-b", Reason: "connection refused"}},
	}, nil
}

// serveAgent gives an agent with these records an address.
func serveAgent(t *testing.T, records ...*pb.Record) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "a")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	j := journal.Open(journal.Config{})
	j.Put("chat-1", &pb.Records{Records: records})
	written, stop := context.WithCancel(t.Context())
	stop()
	j.Run(written) // what waits
	server := grpc.NewServer()
	j.Register(server)
	pb.RegisterNodeServiceServer(server, &node{})
	done := make(chan error)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "unix://" + socket
}
