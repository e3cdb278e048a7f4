package uplink

import (
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	connectTimeout = 5 * time.Second
	maxMessage     = 64 << 20 // a catalog is at most 32 MiB
)

// dial makes a connection that opens with its first stream. It is in plain text only
// towards this machine, unless the options say otherwise.
func dial(parent string, options []grpc.DialOption) (*grpc.ClientConn, error) {
	all := []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: connectTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	}
	if here(parent) {
		all = append(all, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	return grpc.NewClient(parent, append(all, options...)...)
}

// here tells whether a parent is on this machine.
func here(parent string) bool {
	if strings.HasPrefix(parent, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(parent)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// reachable tells what is wrong with a parent, without connecting.
func reachable(parent string, options []grpc.DialOption) error {
	if path, ok := strings.CutPrefix(parent, "unix:"); ok {
		if strings.Trim(path, "/") == "" {
			return fmt.Errorf("parent %q: no path", parent)
		}
	} else if host, port, err := net.SplitHostPort(parent); err != nil || host == "" || port == "" {
		return fmt.Errorf("parent %q: want unix:///path or host:port", parent)
	}
	cc, err := dial(parent, options)
	if err != nil && !here(parent) {
		return fmt.Errorf("parent %q: on another machine, it needs transport credentials in Dial: %w", parent, err)
	}
	if err != nil {
		return fmt.Errorf("parent %q: %w", parent, err)
	}
	return cc.Close()
}
