package uplink

import (
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/pointsman/pointsman/clientlib/cert"
)

const (
	connectTimeout = 5 * time.Second
	maxMessage     = 64 << 20 // a catalog is at most 32 MiB
)

// dial makes a connection that opens with its first stream. It is in plain text only
// towards this machine, unless the options say otherwise.
func dial(parent string, by *cert.Dialer, options []grpc.DialOption) (*grpc.ClientConn, error) {
	all := append(by.Options(parent),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: connectTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	)
	return grpc.NewClient(parent, append(all, options...)...)
}

// reachable tells what is wrong with a parent, without connecting.
func reachable(parent string, by *cert.Dialer, options []grpc.DialOption) error {
	if path, ok := strings.CutPrefix(parent, "unix:"); ok {
		if strings.Trim(path, "/") == "" {
			return fmt.Errorf("parent %q: no path", parent)
		}
	} else if host, port, err := net.SplitHostPort(parent); err != nil || host == "" || port == "" {
		return fmt.Errorf("parent %q: want unix:///path or host:port", parent)
	}
	cc, err := dial(parent, by, options)
	if err != nil && !cert.Here(parent) {
		return fmt.Errorf("parent %q: on another machine, it is reached by TLS only, name its files: %w", parent, err)
	}
	if err != nil {
		return fmt.Errorf("parent %q: %w", parent, err)
	}
	return cc.Close()
}
