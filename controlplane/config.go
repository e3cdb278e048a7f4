// Package controlplane runs one replica of the control plane: it takes catalogs and
// keeps them in etcd, sends them to whoever subscribes, gathers health from the fleet,
// and decides for it. It holds nothing durable itself, and no request passes through it.
package controlplane

import (
	"errors"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/controlplane/rpc"
	"github.com/pointsman/pointsman/controlplane/store"
)

// DefaultNamespace is served when Config names none.
const DefaultNamespace = rpc.DefaultNamespace

// Config says where a replica listens and where its etcd is.
type Config struct {
	Listen        string   // loopback host:port; empty: no TCP
	Socket        string   // path of a unix socket; empty: none
	EtcdEndpoints []string // a cluster; or
	DataDir       string   // one member inside this process
	Namespace     string   // empty: DefaultNamespace
	Version       string   // said in status
	Logger        hclog.Logger
}

// Check returns every fault at once.
func (c Config) Check() error {
	return errors.Join(c.addresses().Check(), store.Config{Endpoints: c.EtcdEndpoints, DataDir: c.DataDir}.Check(), c.checkNamespace())
}

func (c Config) checkNamespace() error {
	if c.Namespace == "" {
		return nil
	}
	return store.CheckNamespace(c.Namespace)
}

// addresses are this host's. Only this user may connect to the socket: whoever can, may
// publish.
func (c Config) addresses() hub.Addresses {
	return hub.Addresses{Listen: c.Listen, Socket: c.Socket, Mode: 0o600}
}

func (c Config) withDefaults() Config {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	return c
}
