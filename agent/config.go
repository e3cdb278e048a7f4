package agent

import (
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/uplink"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Config is what an agent needs: parents, and a socket or an address to serve.
type Config struct {
	Parents  []string // replicas, "host:port" or "unix:///path"; tried in order
	Socket   string   // path of the unix socket to serve; empty: none
	Listen   string   // loopback TCP address to serve, "127.0.0.1:0"; empty: none
	Dir      string   // where last good states are kept; empty: nowhere
	Node     string   // the witness that this host is; empty: its host name
	Locality string   // of this node
	Version  string   // of this build, for operators
	Logger   hclog.Logger
	Dial     []grpc.DialOption // credentials for parents that are not on this host
}

// Check returns every fault at once.
func (c Config) Check() error {
	link := uplink.Config{Parents: c.Parents, Dial: c.Dial, Hello: &pb.Hello{Leaf: "agent"}, Now: func() int64 { return 0 }}
	return errors.Join(link.Check(), c.addresses().Check())
}

// addresses are this host's. Who may connect to the socket is for its folder to say: give
// that a group.
func (c Config) addresses() hub.Addresses {
	return hub.Addresses{Listen: c.Listen, Socket: c.Socket, Mode: 0o660}
}

func (c Config) filled() (Config, error) {
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.Node != "" {
		return c, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return c, fmt.Errorf("node: none given, and the host has no name: %w", err)
	}
	c.Node = name
	return c, nil
}
