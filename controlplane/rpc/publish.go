package rpc

import (
	"bytes"
	"context"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

type catalogService struct {
	pb.UnimplementedCatalogServiceServer
	Config
}

// Validate compiles.
func (s *catalogService) Validate(_ context.Context, r *pb.ValidateRequest) (*pb.ValidateResponse, error) {
	compiled, err := compile(r.GetSources())
	if err != nil {
		return nil, err
	}
	return &pb.ValidateResponse{Findings: compiled.Findings, Resources: compiled.Resources}, nil
}

func compile(src *pb.Sources) (*catalog.Result, error) {
	compiled := catalog.Compile(src, catalog.Options{Now: time.Now()})
	if compiled.Failed() {
		return nil, findingsStatus(compiled.Findings)
	}
	return compiled, nil
}

// Plan compiles, and compares with what is published.
func (s *catalogService) Plan(ctx context.Context, r *pb.PlanRequest) (*pb.PlanResponse, error) {
	compiled, err := compile(r.GetSources())
	if err != nil {
		return nil, err
	}
	at, err := s.published(ctx, namespace(r.GetNamespace()))
	if err != nil {
		return nil, problem(err)
	}
	return &pb.PlanResponse{
		Findings: compiled.Findings, Base: at.head.GetPublished(), Digest: catalog.Digest(compiled.Resources),
		Changes: catalog.Diff(at.content.GetResources(), compiled.Resources), Unready: unready(compiled.Resources, s.Leaves()),
	}, nil
}

// publication is what is published now; its content is nil when nothing is.
type publication struct {
	head    *pb.Head
	info    *pb.RevisionInfo
	content *pb.StoredContent
}

func (s *catalogService) published(ctx context.Context, namespace string) (publication, error) {
	h, err := s.Store.Head(ctx, namespace)
	if err != nil || h.GetPublished() == 0 {
		return publication{head: h}, err
	}
	info, content, err := s.Store.Revision(ctx, namespace, h.GetPublished())
	return publication{h, info, content}, err
}

// unready are the connected libraries that said of a workload that they cannot use it.
func unready(resources []*pb.Resource, leaves []*pb.LeafState) []*pb.Unready {
	var out []*pb.Unready
	for _, l := range leaves {
		for _, u := range l.GetUnusable() {
			if !l.GetGone() && hasWorkload(resources, u.GetWorkload()) {
				out = append(out, &pb.Unready{Leaf: l.GetLeaf(), Workload: u.GetWorkload(), Reason: u.GetReason()})
			}
		}
	}
	return out
}

func hasWorkload(resources []*pb.Resource, name string) bool {
	return slices.ContainsFunc(resources, func(r *pb.Resource) bool {
		return r.GetKind() == pb.Kind_KIND_WORKLOAD && r.GetName() == name
	})
}

// isPool tells what is called by name: a workload or a tool.
func isPool(r *pb.Resource) bool {
	return r.GetKind() == pb.Kind_KIND_WORKLOAD || r.GetKind() == pb.Kind_KIND_TOOL
}

// Publish compiles, stores and activates. What is published already, word for word, makes
// no new revision.
func (s *catalogService) Publish(ctx context.Context, r *pb.PublishRequest) (*pb.PublishResponse, error) {
	compiled, err := compile(r.GetSources())
	if err != nil {
		return nil, err
	}
	if !r.GetForce() && !slices.ContainsFunc(compiled.Resources, isPool) {
		return nil, detailed(codes.FailedPrecondition, "the catalog has no workload: every caller would be refused; publish with force if that is meant",
			&errdetails.ErrorInfo{Reason: ReasonEmpties, Domain: domain})
	}
	at, err := s.published(ctx, namespace(r.GetNamespace()))
	if err != nil {
		return nil, problem(err)
	}
	out := &pb.PublishResponse{Findings: compiled.Findings}
	digest := catalog.Digest(compiled.Resources)
	switch base := at.head.GetPublished(); {
	case at.content != nil && bytes.Equal(at.info.GetDigest(), digest) && proto.Equal(at.content.GetSources(), r.GetSources()):
		out.Head, out.Revision = at.head, base
	case base != r.GetBase() && !r.GetAnyBase():
		return nil, problem(&store.ConflictError{Base: r.GetBase(), Published: base})
	default:
		out.Changes = catalog.Diff(at.content.GetResources(), compiled.Resources)
		out.Head, out.Revision, err = s.publish(ctx, r, &pb.StoredContent{Resources: compiled.Resources, Sources: r.GetSources()}, digest)
	}
	out.HeldByPin = out.Head.GetPin() != 0
	return out, problem(err)
}

func (s *catalogService) publish(ctx context.Context, r *pb.PublishRequest, c *pb.StoredContent, digest []byte) (*pb.Head, uint64, error) {
	return s.Store.Publish(ctx, namespace(r.GetNamespace()), store.Publication{
		Content: c, Base: r.GetBase(), AnyBase: r.GetAnyBase(), Actor: actor(ctx, r.GetAuthor()), Compose: s.compose(namespace(r.GetNamespace())),
		Info: &pb.RevisionInfo{Author: actor(ctx, r.GetAuthor()), Message: r.GetMessage(), ToolVersion: r.GetToolVersion(), Digest: digest},
	})
}

// compose puts pinned workloads, from their revisions, over a published catalog.
func (s *catalogService) compose(namespace string) store.Compose {
	return func(ctx context.Context, pins []*pb.WorkloadPin, published *pb.StoredContent) (*store.Composition, error) {
		from := map[string][]*pb.Resource{}
		for _, p := range pins {
			_, c, err := s.Store.Revision(ctx, namespace, p.GetRevision())
			if err != nil {
				return nil, err
			}
			from[p.GetWorkload()] = c.GetResources()
		}
		composed, err := catalog.Compose(published.GetResources(), from)
		if err != nil {
			return nil, err
		}
		return &store.Composition{
			Content: &pb.StoredContent{Resources: composed, Sources: published.GetSources()}, Digest: catalog.Digest(composed),
		}, nil
	}
}
