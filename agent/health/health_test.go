package health

import (
	"context"
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// serve is a server that is ready when ready says so.
func serve(t *testing.T, ready func() error) healthpb.HealthClient {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	s := grpc.NewServer()
	Register(s, ready)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		s.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return healthpb.NewHealthClient(conn)
}

func TestItServesOnceTheProcessIsReady(t *testing.T) {
	var why error
	c := serve(t, func() error { return why })
	for name, want := range map[string]struct {
		why     error
		service string
		status  healthpb.HealthCheckResponse_ServingStatus
		code    codes.Code
	}{
		"starting":       {errors.New("no head"), "", healthpb.HealthCheckResponse_NOT_SERVING, codes.OK},
		"ready":          {nil, "", healthpb.HealthCheckResponse_SERVING, codes.OK},
		"one service":    {nil, "grpc.health.v1.Health", healthpb.HealthCheckResponse_SERVING, codes.OK},
		"of one, not":    {errors.New("no head"), "grpc.health.v1.Health", healthpb.HealthCheckResponse_NOT_SERVING, codes.OK},
		"nobody's":       {nil, "pointsman.v1.NoService", 0, codes.NotFound},
		"nobody's ready": {errors.New("no head"), "pointsman.v1.NoService", 0, codes.NotFound},
	} {
		why = want.why
		got, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: want.service})
		if status.Code(err) != want.code || got.GetStatus() != want.status {
			t.Errorf("%s: %v, %v", name, got.GetStatus(), err)
		}
	}
}
