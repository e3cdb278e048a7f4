// Package health answers grpc.health.v1 for agents and replicas: serving once the process is
// ready, by the same word as its /readyz. It judges nothing itself. Whoever reaches the
// server may ask, so what is asked is not even read: a stranger's message would be kept whole in
// memory first, however large it is. All services are ready at once.
package health

import (
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// Check is the method that anybody may call: it tells one word.
const Check = healthpb.Health_Check_FullMethodName

// Register adds the service to a server; ready says why the process is not. Watch is not there: who
// asks for it takes the server for healthy.
func Register(s *grpc.Server, ready func() error) {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: healthpb.Health_ServiceDesc.ServiceName, HandlerType: (*any)(nil), Metadata: healthpb.Health_ServiceDesc.Metadata,
		Streams: []grpc.StreamDesc{{StreamName: "Check", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			word := healthpb.HealthCheckResponse_SERVING
			if ready() != nil {
				word = healthpb.HealthCheckResponse_NOT_SERVING
			}
			return stream.SendMsg(&healthpb.HealthCheckResponse{Status: word})
		}}},
	}, nil)
}
