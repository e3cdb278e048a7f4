// Command pointsman-controlplane runs one replica of the control plane.
package main

import (
	"context"
	"flag"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/cmd/daemon"
	"github.com/pointsman/pointsman/controlplane"
)

const defaultListen = "127.0.0.1:7400"

const about = `Runs one replica of the Pointsman control plane: it keeps the catalog in etcd, pushes it to agents and
libraries, gathers their health, and judges endpoints for the fleet. No inference request passes through it.
Give -etcd-endpoints for a cluster, or -data-dir for one etcd member inside this process that listens nowhere.

  pointsman-controlplane -data-dir /var/lib/pointsman
  pointsman-controlplane -etcd-endpoints http://10.0.0.1:2379,http://10.0.0.2:2379 -socket /run/pointsman/controlplane.sock
`

func main() { daemon.Main(program(&controlplane.Config{Version: daemon.Version()})) }

// program is the replica that c, filled by its flags, describes.
func program(c *controlplane.Config) daemon.Program {
	return daemon.Program{
		Name: "pointsman-controlplane", About: about, Check: func() error { return c.Check() },
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&c.Listen, "listen", defaultListen, "loopback `address` for gRPC; empty: none")
			f.StringVar(&c.Socket, "socket", "", "unix socket for gRPC, for this user alone, `path`; empty: none")
			f.Var((*daemon.List)(&c.EtcdEndpoints), "etcd-endpoints", "etcd cluster, `addresses` separated by commas")
			f.StringVar(&c.DataDir, "data-dir", "", "`folder` of the etcd member inside this process")
			f.StringVar(&c.Namespace, "namespace", controlplane.DefaultNamespace, "`name` of the catalog that is served")
		},
		Serve: func(ctx context.Context, log hclog.Logger) error {
			c.Logger = log
			s, err := controlplane.New(ctx, *c)
			if err != nil {
				return err
			}
			return s.Run(ctx)
		},
	}
}
