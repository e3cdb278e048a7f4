package uplink

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// The parents' notation works on real sockets, without options.
func TestParentsAreReachedOnRealSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parent.sock")
	for network, address := range map[string]string{"unix": path, "tcp": "127.0.0.1:0"} {
		lis, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		p := &parent{streams: make(chan *call, 1)}
		srv := grpc.NewServer()
		pb.RegisterSyncServiceServer(srv, p)
		go srv.Serve(lis)
		target := lis.Addr().String()
		if network == "unix" {
			target = "unix://" + path
		}
		l, err := New(Config{Parents: []string{target}, Hello: &pb.Hello{Leaf: "leaf"}, Now: func() int64 { return time.Now().UnixMicro() }}, &recorder{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		c := <-p.streams
		if m := c.next(t); m.GetHello().GetLeaf() != "leaf" {
			t.Errorf("over %s: %v", network, m)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		srv.Stop()
	}
}
