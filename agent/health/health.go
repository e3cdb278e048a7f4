// Package health answers grpc.health.v1 for agents and replicas: serving once the process is
// ready, by the same word as its /readyz. It judges nothing itself. Whoever reaches the
// server may ask.
package health

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// Check is the method that anybody may call.
const Check = healthpb.Health_Check_FullMethodName

type service struct {
	healthpb.UnimplementedHealthServer // Watch is not there: who asks for it takes the server for healthy
	server                             *grpc.Server
	ready                              func() error
}

// Register adds the service to a server; ready says why the process is not.
func Register(s *grpc.Server, ready func() error) {
	healthpb.RegisterHealthServer(s, service{server: s, ready: ready})
}

// Check says of the server as a whole, or of a service that it has: all are ready at once.
func (s service) Check(_ context.Context, r *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if name := r.GetService(); name != "" {
		if _, ok := s.server.GetServiceInfo()[name]; !ok {
			return nil, status.Errorf(codes.NotFound, "service %q is not served here", name)
		}
	}
	word := healthpb.HealthCheckResponse_SERVING
	if s.ready() != nil {
		word = healthpb.HealthCheckResponse_NOT_SERVING
	}
	return &healthpb.HealthCheckResponse{Status: word}, nil
}
