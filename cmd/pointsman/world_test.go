package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/rpc"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// world is a control plane that keeps one namespace in memory.
type world struct {
	pb.UnimplementedCatalogServiceServer
	pb.UnimplementedFleetServiceServer
	pb.UnimplementedOperatorServiceServer

	mu        sync.Mutex
	head      *pb.Head
	revisions []*stored // by number, from 1
	overrides []*pb.Override
	rights    rights
	store     bool                                              // reachable
	before    func(ctx context.Context, namespace string) error // told of every call; its error is the answer
}

type stored struct {
	info      *pb.RevisionInfo
	sources   *pb.Sources
	resources []*pb.Resource
}

// serve gives the world an address.
func serve(t *testing.T, w *world) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	serveAt(t, w, listener)
	return "unix://" + socket
}

func serveAt(t *testing.T, w *world, listener net.Listener) {
	t.Helper()
	server := grpc.NewServer(grpc.UnaryInterceptor(w.intercept), grpc.StreamInterceptor(w.interceptStream))
	pb.RegisterCatalogServiceServer(server, w)
	pb.RegisterFleetServiceServer(server, w)
	pb.RegisterOperatorServiceServer(server, w)
	done := make(chan error)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func newWorld() *world { return &world{head: &pb.Head{Epoch: 1}, store: true} }

func (w *world) intercept(ctx context.Context, q any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.before != nil {
		namespace := ""
		if of, ok := q.(interface{ GetNamespace() string }); ok {
			namespace = of.GetNamespace()
		}
		if err := w.before(ctx, namespace); err != nil {
			return nil, err
		}
	}
	if !w.store {
		return nil, status.Error(codes.Unavailable, "store: no member of the cluster answers")
	}
	return next(ctx, q)
}

func (w *world) interceptStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	w.mu.Lock()
	away := !w.store
	w.mu.Unlock()
	if away {
		return status.Error(codes.Unavailable, "store: no member of the cluster answers")
	}
	return next(srv, stream)
}

func refusal(code codes.Code, message string, details ...protoadapt.MessageV1) error {
	s, err := status.New(code, message).WithDetails(details...)
	if err != nil {
		panic(err)
	}
	return s.Err()
}

func precondFailed(reason, message string) error {
	return refusal(codes.FailedPrecondition, message, &errdetails.ErrorInfo{Reason: reason})
}

func compile(sources *pb.Sources) (*catalog.Result, error) {
	result := catalog.Compile(sources, catalog.Options{})
	if result.Failed() {
		return nil, refusal(codes.InvalidArgument, "the catalog has errors", &pb.CatalogFindings{Findings: result.Findings})
	}
	return result, nil
}

// revision is the one named, or by default byDefault.
func (w *world) revision(n uint64, tag string, byDefault uint64) (*stored, error) {
	for _, r := range w.revisions {
		if tag != "" && slices.Contains(r.info.Tags, tag) {
			return r, nil
		}
	}
	if n == 0 {
		n = byDefault
	}
	if tag != "" || n == 0 || n > uint64(len(w.revisions)) {
		return nil, status.Errorf(codes.NotFound, "no revision %s%s", tag, number(n))
	}
	return w.revisions[n-1], nil
}

func (w *world) resources(n uint64) []*pb.Resource {
	if n == 0 {
		return nil
	}
	return w.revisions[n-1].resources
}

// step is what every change of the head does.
func (w *world) step(actor, reason string) *pb.Head {
	w.head.Generation++
	w.head.Actor, w.head.Reason = actor, reason
	w.head.Time = timestamppb.New(time.Date(2026, 12, 1, 10, int(w.head.Generation), 0, 0, time.UTC))
	if w.head.Serving = w.head.Published; w.head.Pin != 0 {
		w.head.Serving = w.head.Pin
	}
	return w.head
}

func (w *world) Plan(_ context.Context, q *pb.PlanRequest) (*pb.PlanResponse, error) {
	result, err := compile(q.Sources)
	if err != nil {
		return nil, err
	}
	return &pb.PlanResponse{
		Findings: result.Findings, Base: w.head.Published, Digest: catalog.Digest(result.Resources),
		Changes: catalog.Diff(w.resources(w.head.Published), result.Resources),
	}, nil
}

func (w *world) Publish(_ context.Context, q *pb.PublishRequest) (*pb.PublishResponse, error) {
	result, err := compile(q.Sources)
	switch {
	case err != nil:
		return nil, err
	case q.Base != w.head.Published && !q.AnyBase:
		return nil, precondFailed(rpc.ReasonConflict, fmt.Sprintf("revision %d is published, and the plan saw %d", w.head.Published, q.Base))
	case !q.Force && len(result.Resources) < len(w.resources(w.head.Published)):
		return nil, precondFailed(rpc.ReasonEmpties, "it takes away what is in use")
	}
	answer := &pb.PublishResponse{
		Revision: uint64(len(w.revisions) + 1), Findings: result.Findings,
		Changes: catalog.Diff(w.resources(w.head.Published), result.Resources), HeldByPin: w.head.Pin != 0,
	}
	info := &pb.RevisionInfo{Revision: answer.Revision, Parent: q.Base, Author: q.Author, Message: q.Message}
	w.revisions = append(w.revisions, &stored{info, q.Sources, result.Resources})
	w.head.Published = answer.Revision
	answer.Head = w.step(q.Author, "")
	info.Time = answer.Head.Time
	return answer, nil
}

func (w *world) Pull(_ context.Context, q *pb.PullRequest) (*pb.PullResponse, error) {
	r, err := w.revision(q.Revision, q.Tag, w.head.Published)
	if err != nil {
		return nil, err
	}
	return &pb.PullResponse{Info: r.info, Sources: r.sources}, nil
}

func (w *world) History(_ context.Context, q *pb.HistoryRequest) (*pb.HistoryResponse, error) {
	answer := &pb.HistoryResponse{Head: w.head}
	for _, r := range slices.Backward(w.revisions) {
		if (q.Before == 0 || r.info.Revision < q.Before) && (q.Limit == 0 || len(answer.Revisions) < int(q.Limit)) {
			answer.Revisions = append(answer.Revisions, r.info)
		}
	}
	return answer, nil
}

func (w *world) Show(_ context.Context, q *pb.ShowRequest) (*pb.ShowResponse, error) {
	r, err := w.revision(q.Revision, q.Tag, w.head.Serving)
	if err != nil {
		return nil, err
	}
	return &pb.ShowResponse{Info: r.info, Head: w.head, Resources: r.resources}, nil
}

func (w *world) Diff(_ context.Context, q *pb.DiffRequest) (*pb.DiffResponse, error) {
	from, err := w.revision(q.From, "", 0)
	if err != nil {
		return nil, err
	}
	to, err := w.revision(q.To, "", w.head.Published)
	if err != nil {
		return nil, err
	}
	return &pb.DiffResponse{Changes: catalog.Diff(from.resources, to.resources)}, nil
}

func (w *world) Pin(_ context.Context, q *pb.PinRequest) (*pb.PinResponse, error) {
	r, err := w.revision(q.Revision, q.Tag, 0)
	switch {
	case err != nil:
		return nil, err
	case q.Workload == "":
		w.head.Pin = r.info.Revision
	default:
		w.head.Pins = append(w.head.Pins, &pb.WorkloadPin{Workload: q.Workload, Revision: r.info.Revision})
	}
	return &pb.PinResponse{Head: w.step(q.Actor, q.Reason)}, nil
}

func (w *world) Unpin(_ context.Context, q *pb.UnpinRequest) (*pb.UnpinResponse, error) {
	if q.Workload == "" {
		w.head.Pin = 0
	}
	w.head.Pins = slices.DeleteFunc(w.head.Pins, func(p *pb.WorkloadPin) bool { return p.Workload == q.Workload })
	return &pb.UnpinResponse{Head: w.step(q.Actor, q.Reason)}, nil
}

func (w *world) Tag(_ context.Context, q *pb.TagRequest) (*pb.TagResponse, error) {
	for _, r := range w.revisions {
		r.info.Tags = slices.DeleteFunc(r.info.Tags, func(tag string) bool { return tag == q.Name })
	}
	if q.Revision == 0 {
		return &pb.TagResponse{}, nil
	}
	r, err := w.revision(q.Revision, "", 0)
	if err != nil {
		return nil, err
	}
	r.info.Tags = append(r.info.Tags, q.Name)
	return &pb.TagResponse{}, nil
}

// tokenOf is the bearer token of a call.
func tokenOf(ctx context.Context) []string {
	return metadata.ValueFromIncomingContext(ctx, "authorization")
}
