package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/controlplane/access"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// rights are who may do what in a world.
type rights struct {
	tokens  []*pb.TokenInfo
	roles   []*pb.RoleBinding
	revoked []*pb.Revocation
}

var set = timestamppb.New(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC))

func (w *world) CreateToken(_ context.Context, q *pb.CreateTokenRequest) (*pb.CreateTokenResponse, error) {
	if err := access.CheckRole(q.Role); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	t := &pb.TokenInfo{Id: fmt.Sprintf("default.%012x", len(w.rights.tokens)+1), Name: q.Name, Role: q.Role, Created: set, Actor: "uid/990"}
	if q.DurationUs > 0 {
		t.Expires = timestamppb.New(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	w.rights.tokens = append(w.rights.tokens, t)
	return &pb.CreateTokenResponse{Token: "pmt_secret", Info: t}, nil
}

func (w *world) ListTokens(context.Context, *pb.ListTokensRequest) (*pb.ListTokensResponse, error) {
	return &pb.ListTokensResponse{Tokens: w.rights.tokens}, nil
}

func (w *world) GrantRole(_ context.Context, q *pb.GrantRoleRequest) (*pb.GrantRoleResponse, error) {
	if err := access.CheckIdentity(q.Identity); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	w.rights.roles = nil
	if q.Role != "" {
		w.rights.roles = []*pb.RoleBinding{{Identity: q.Identity, Role: q.Role, Node: q.Node, Actor: "uid/990", Time: set}}
	}
	return &pb.GrantRoleResponse{}, nil
}

func (w *world) ListRoles(context.Context, *pb.ListRolesRequest) (*pb.ListRolesResponse, error) {
	return &pb.ListRolesResponse{Bindings: w.rights.roles}, nil
}

func (w *world) Revoke(_ context.Context, q *pb.RevokeRequest) (*pb.RevokeResponse, error) {
	w.rights.revoked = []*pb.Revocation{{Subject: q.Subject, Reason: q.Reason, Actor: "uid/990", Time: set}}
	for _, t := range w.rights.tokens {
		t.Revoked = t.Revoked || t.Id == q.Subject
	}
	return &pb.RevokeResponse{}, nil
}

func (w *world) Unrevoke(_ context.Context, q *pb.UnrevokeRequest) (*pb.UnrevokeResponse, error) {
	if len(w.rights.revoked) == 0 {
		return nil, status.Errorf(codes.NotFound, "%s is not revoked: `pointsman role list` lists what is", q.Subject)
	}
	w.rights.revoked = nil
	return &pb.UnrevokeResponse{}, nil
}

func (w *world) ListRevocations(context.Context, *pb.ListRevocationsRequest) (*pb.ListRevocationsResponse, error) {
	return &pb.ListRevocationsResponse{Revocations: w.rights.revoked}, nil
}

func (w *world) WhoAmI(context.Context, *pb.WhoAmIRequest) (*pb.WhoAmIResponse, error) {
	return &pb.WhoAmIResponse{Identity: "cn/ada", Role: "operator", Tenants: []string{"acme", "beta"}}, nil
}
