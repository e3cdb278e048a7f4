package health

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// serve is a server that is ready when ready says so.
func serve(t *testing.T, ready func() error) *grpc.ClientConn {
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
	return conn
}

func TestItServesOnceTheProcessIsReady(t *testing.T) {
	var why error
	c := healthpb.NewHealthClient(serve(t, func() error { return why }))
	for name, want := range map[string]struct {
		why     error
		service string
		status  healthpb.HealthCheckResponse_ServingStatus
		code    codes.Code
	}{
		"starting":    {errors.New("no head"), "", healthpb.HealthCheckResponse_NOT_SERVING, codes.OK},
		"ready":       {nil, "", healthpb.HealthCheckResponse_SERVING, codes.OK},
		"one service": {nil, "grpc.health.v1.Health", healthpb.HealthCheckResponse_SERVING, codes.OK},
		"of one, not": {errors.New("no head"), "grpc.health.v1.Health", healthpb.HealthCheckResponse_NOT_SERVING, codes.OK},
	} {
		why = want.why
		got, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: want.service})
		if status.Code(err) != want.code || got.GetStatus() != want.status {
			t.Errorf("%s: %v, %v", name, got.GetStatus(), err)
		}
	}
}

// Whoever reaches the server may ask: a message that never ends must not be waited for, nor kept.
func TestWhatIsAskedIsNotRead(t *testing.T) {
	conn := serve(t, func() error { return nil })
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, Check)
	if err != nil {
		t.Fatal(err)
	}
	got := &healthpb.HealthCheckResponse{}
	if err := stream.RecvMsg(got); err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", got, err)
	}
	large := &healthpb.HealthCheckRequest{Service: strings.Repeat("x", 1<<20)}
	for range 20 {
		if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), large); err != nil {
			t.Fatal(err)
		}
	}
}
