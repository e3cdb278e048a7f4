package rpc

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/controlplane/access"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// CreateToken makes a token, and tells its secret this once.
func (s *operatorService) CreateToken(ctx context.Context, r *pb.CreateTokenRequest) (*pb.CreateTokenResponse, error) {
	if s.Access == nil {
		return nil, status.Error(codes.FailedPrecondition, "nobody looks at tokens here")
	}
	id, secret, t, err := s.Access.NewToken(r, actor(ctx, ""))
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if err := s.Store.PutToken(ctx, s.Namespace, id, t); err != nil {
		return nil, problem(err)
	}
	return &pb.CreateTokenResponse{Token: secret, Info: tokenInfo(id, t)}, nil
}

func tokenInfo(id string, t *pb.StoredToken) *pb.TokenInfo {
	return &pb.TokenInfo{Id: id, Name: t.GetName(), Role: t.GetRole(), Created: t.GetCreated(), Expires: t.GetExpires(), Actor: t.GetActor()}
}

// ListTokens lists all but secrets, by name.
func (s *operatorService) ListTokens(ctx context.Context, _ *pb.ListTokensRequest) (*pb.ListTokensResponse, error) {
	a, err := s.Store.Access(ctx)
	if err != nil {
		return nil, problem(err)
	}
	out := &pb.ListTokensResponse{}
	for id, t := range a.Tokens {
		info := tokenInfo(id, t)
		info.Revoked = a.Revoked[id] != nil || a.Revoked["token/"+t.GetName()] != nil
		out.Tokens = append(out.Tokens, info)
	}
	slices.SortFunc(out.Tokens, func(a, b *pb.TokenInfo) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Id, b.Id)) })
	return out, nil
}

// GrantRole gives an identity a role.
func (s *operatorService) GrantRole(ctx context.Context, r *pb.GrantRoleRequest) (*pb.GrantRoleResponse, error) {
	if err := errors.Join(access.CheckIdentity(r.GetIdentity()), access.CheckRole(r.GetRole()), access.CheckNode(r.GetRole(), r.GetNode())); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	err := s.Store.PutRole(ctx, s.Namespace, &pb.RoleBinding{
		Identity: r.GetIdentity(), Role: r.GetRole(), Node: r.GetNode(), Actor: actor(ctx, ""), Time: timestamppb.Now(),
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, status.Errorf(codes.NotFound, "%s has no role of its own: `pointsman role list` lists who has", r.GetIdentity())
	}
	return &pb.GrantRoleResponse{}, problem(err)
}

// ListRoles lists the roles that were granted, by identity.
func (s *operatorService) ListRoles(ctx context.Context, _ *pb.ListRolesRequest) (*pb.ListRolesResponse, error) {
	a, err := s.Store.Access(ctx)
	if err != nil {
		return nil, problem(err)
	}
	return &pb.ListRolesResponse{Bindings: inOrder(a.Roles)}, nil
}

// Revoke ends what an identity or one token may do.
func (s *operatorService) Revoke(ctx context.Context, r *pb.RevokeRequest) (*pb.RevokeResponse, error) {
	if err := errors.Join(access.CheckSubject(r.GetSubject()), access.CheckReason(r.GetReason())); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &pb.RevokeResponse{}, problem(s.Store.PutRevocation(ctx, s.Namespace, revocation(ctx, r.GetSubject(), r.GetReason())))
}

// Unrevoke takes that back.
func (s *operatorService) Unrevoke(ctx context.Context, r *pb.UnrevokeRequest) (*pb.UnrevokeResponse, error) {
	if err := access.CheckSubject(r.GetSubject()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	err := s.Store.DeleteRevocation(ctx, s.Namespace, revocation(ctx, r.GetSubject(), ""))
	if errors.Is(err, store.ErrNotFound) {
		return nil, status.Errorf(codes.NotFound, "%s is not revoked: `pointsman role list` lists what is", r.GetSubject())
	}
	return &pb.UnrevokeResponse{}, problem(err)
}

func revocation(ctx context.Context, subject, reason string) *pb.Revocation {
	return &pb.Revocation{Subject: subject, Reason: reason, Actor: actor(ctx, ""), Time: timestamppb.New(time.Now())}
}

// ListRevocations lists what was revoked, by subject.
func (s *operatorService) ListRevocations(ctx context.Context, _ *pb.ListRevocationsRequest) (*pb.ListRevocationsResponse, error) {
	a, err := s.Store.Access(ctx)
	if err != nil {
		return nil, problem(err)
	}
	return &pb.ListRevocationsResponse{Revocations: inOrder(a.Revoked)}, nil
}

func inOrder[T any](by map[string]T) []T {
	var out []T
	for _, key := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[key])
	}
	return out
}

// WhoAmI says who the caller is taken for.
func (s *operatorService) WhoAmI(ctx context.Context, _ *pb.WhoAmIRequest) (*pb.WhoAmIResponse, error) {
	c := access.From(ctx)
	out := &pb.WhoAmIResponse{Identity: c.Identity, Role: c.Role}
	if s.Access != nil {
		out.Tenants = s.Access.ActsFor(c.Identity)
	}
	return out, nil
}
