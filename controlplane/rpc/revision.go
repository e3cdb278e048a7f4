package rpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Pull gives a revision's sources back.
func (s *catalogService) Pull(ctx context.Context, r *pb.PullRequest) (*pb.PullResponse, error) {
	w := wanted{namespace(r.GetNamespace()), r.GetRevision(), r.GetTag(), (*pb.Head).GetPublished}
	info, content, _, err := s.revision(ctx, w)
	if err != nil {
		return nil, problem(err)
	}
	return &pb.PullResponse{Info: info, Sources: content.GetSources()}, nil
}

// Show gives a revision's effective resources.
func (s *catalogService) Show(ctx context.Context, r *pb.ShowRequest) (*pb.ShowResponse, error) {
	w := wanted{namespace(r.GetNamespace()), r.GetRevision(), r.GetTag(), (*pb.Head).GetServing}
	info, content, head, err := s.revision(ctx, w)
	if err != nil {
		return nil, problem(err)
	}
	return &pb.ShowResponse{Info: info, Head: head, Resources: content.GetResources()}, nil
}

// wanted names a revision as requests do: by tag, by number, or by what head says.
type wanted struct {
	namespace string
	number    uint64
	tag       string
	otherwise func(*pb.Head) uint64
}

func (s *catalogService) revision(ctx context.Context, w wanted) (*pb.RevisionInfo, *pb.StoredContent, *pb.Head, error) {
	head, err := s.Store.Head(ctx, w.namespace)
	if err != nil {
		return nil, nil, nil, err
	}
	n, err := s.number(ctx, w, head)
	if err != nil {
		return nil, nil, nil, err
	}
	info, content, err := s.Store.Revision(ctx, w.namespace, n)
	return info, content, head, err
}

func (s *catalogService) number(ctx context.Context, w wanted, head *pb.Head) (uint64, error) {
	switch {
	case w.tag != "" && w.number != 0:
		return 0, status.Error(codes.InvalidArgument, "both a revision and a tag: choose one")
	case w.tag != "":
		return s.Store.ResolveTag(ctx, w.namespace, w.tag)
	case w.number != 0:
		return w.number, nil
	}
	n := w.otherwise(head)
	if n == 0 {
		return 0, fmt.Errorf("nothing is published in namespace %q: %w", w.namespace, store.ErrNotFound)
	}
	return n, nil
}

// History lists revisions, newest first.
func (s *catalogService) History(ctx context.Context, r *pb.HistoryRequest) (*pb.HistoryResponse, error) {
	head, err := s.Store.Head(ctx, namespace(r.GetNamespace()))
	if err != nil {
		return nil, problem(err)
	}
	revisions, err := s.Store.History(ctx, namespace(r.GetNamespace()), r.GetBefore(), int(r.GetLimit()))
	return &pb.HistoryResponse{Head: head, Revisions: revisions}, problem(err)
}

// Diff compares two revisions by their effective values.
func (s *catalogService) Diff(ctx context.Context, r *pb.DiffRequest) (*pb.DiffResponse, error) {
	_, before, _, err := s.revision(ctx, wanted{namespace: namespace(r.GetNamespace()), number: r.GetFrom(), otherwise: (*pb.Head).GetServing})
	if err != nil {
		return nil, problem(err)
	}
	_, after, _, err := s.revision(ctx, wanted{namespace: namespace(r.GetNamespace()), number: r.GetTo(), otherwise: (*pb.Head).GetPublished})
	if err != nil {
		return nil, problem(err)
	}
	return &pb.DiffResponse{Changes: catalog.Diff(before.GetResources(), after.GetResources())}, nil
}

// Tag names a revision, or takes a name away.
func (s *catalogService) Tag(ctx context.Context, r *pb.TagRequest) (*pb.TagResponse, error) {
	return &pb.TagResponse{}, problem(s.Store.Tag(ctx, namespace(r.GetNamespace()), r.GetName(), r.GetRevision(), actor(ctx, r.GetActor())))
}

// Pin makes the fleet, or one workload, run a revision.
func (s *catalogService) Pin(ctx context.Context, r *pb.PinRequest) (*pb.PinResponse, error) {
	ns := namespace(r.GetNamespace())
	if r.GetRevision() == 0 && r.GetTag() == "" {
		return nil, status.Error(codes.InvalidArgument, "neither a revision nor a tag to pin to")
	}
	n, err := s.number(ctx, wanted{namespace: ns, number: r.GetRevision(), tag: r.GetTag()}, nil)
	if err != nil {
		return nil, problem(err)
	}
	if err := s.holds(ctx, ns, n, r.GetWorkload()); err != nil {
		return nil, problem(err)
	}
	head, err := s.Store.Pin(ctx, ns, store.PinChange{
		Workload: r.GetWorkload(), Revision: n, Reason: r.GetReason(), Actor: actor(ctx, r.GetActor()), Compose: s.compose(ns),
	})
	return &pb.PinResponse{Head: head}, problem(err)
}

// holds says whether a revision has a workload; it has the whole fleet, which has no name.
func (s *catalogService) holds(ctx context.Context, namespace string, n uint64, workload string) error {
	if workload == "" {
		return nil
	}
	_, c, err := s.Store.Revision(ctx, namespace, n)
	if err == nil && !hasWorkload(c.GetResources(), workload) {
		err = status.Errorf(codes.NotFound, "revision %d has no workload %q", n, workload)
	}
	return err
}

// Unpin takes a pin back.
func (s *catalogService) Unpin(ctx context.Context, r *pb.UnpinRequest) (*pb.UnpinResponse, error) {
	ns := namespace(r.GetNamespace())
	head, err := s.Store.Unpin(ctx, ns, store.PinChange{
		Workload: r.GetWorkload(), Reason: r.GetReason(), Actor: actor(ctx, r.GetActor()), Compose: s.compose(ns),
	})
	return &pb.UnpinResponse{Head: head}, problem(err)
}
