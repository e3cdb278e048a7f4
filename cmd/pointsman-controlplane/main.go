// Command pointsman-controlplane runs one replica of the control plane.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/cmd/daemon"
	"github.com/pointsman/pointsman/controlplane"
	"github.com/pointsman/pointsman/controlplane/metrics"
)

const (
	defaultListen  = "127.0.0.1:7400"
	defaultMetrics = "127.0.0.1:7401"
)

const about = `Runs one replica of the Pointsman control plane: it keeps the catalog in etcd, pushes it to agents and
libraries, gathers their health, and judges endpoints for the fleet. No inference request passes through it.
Give -etcd-endpoints for a cluster, or -data-dir for one etcd member inside this process that listens nowhere.

  pointsman-controlplane -data-dir /var/lib/pointsman
  pointsman-controlplane -etcd-endpoints http://10.0.0.1:2379,http://10.0.0.2:2379 -socket /run/pointsman/controlplane.sock
`

func main() { daemon.Main(program(&controlplane.Config{Version: daemon.Version()})) }

// program is the replica that c, filled by its flags, describes.
func program(c *controlplane.Config) daemon.Program {
	var etcd cert.Files
	return daemon.Program{
		Name: "pointsman-controlplane", About: about, Metrics: defaultMetrics, TLS: &c.TLS,
		Check: func() error {
			_, err := etcdTLS(etcd)
			return errors.Join(c.Check(), err)
		},
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&c.Listen, "listen", defaultListen, "`address` for gRPC; beyond loopback by TLS; empty: none")
			f.StringVar(&c.Socket, "socket", "", "unix socket for gRPC, for this user alone, `path`; empty: none")
			f.Var((*daemon.List)(&c.EtcdEndpoints), "etcd-endpoints", "etcd cluster, `addresses` separated by commas")
			f.StringVar(&etcd.CA, "etcd-ca", "", "`file` of the CA of etcd's certificates; empty: whom the system believes, for https addresses")
			f.StringVar(&etcd.Cert, "etcd-cert", "", "`file` of the certificate that etcd is shown; read again when it changes")
			f.StringVar(&etcd.Key, "etcd-key", "", "`file` of its key")
			f.StringVar(&c.DataDir, "data-dir", "", "`folder` of the etcd member inside this process")
			f.StringVar(&c.Namespace, "namespace", controlplane.DefaultNamespace, "`name` of the catalog that is served")
			f.StringVar(&c.Name, "name", "", "`name` of this replica among the others; empty: where they reach it")
			f.StringVar(&c.Advertise, "advertise", "", "`address`, host:port or unix:///path, where the other replicas reach it; empty: where it listens")
			f.StringVar(&c.TokenFile, "token-file", "", "`file` with the bearer token that the leader is shown; empty: none")
			f.StringVar(&c.LocalToken, "local-token-file", "", "`file` that is made with the token for this host's own user over loopback; empty: token in -data-dir, or "+controlplane.DefaultTokenFile)
		},
		Open: func(ctx context.Context, log hclog.Logger) (*daemon.Running, error) {
			c.Logger = log
			var err error
			if c.EtcdTLS, err = etcdTLS(etcd); err != nil {
				return nil, err
			}
			s, err := controlplane.New(ctx, *c)
			if err != nil {
				return nil, err
			}
			return &daemon.Running{Run: s.Run, Ready: s.Ready, Metrics: metrics.Collector(s.Figures)}, nil
		},
	}
}

// etcdTLS is how etcd is reached: nil without files.
func etcdTLS(f cert.Files) (*tls.Config, error) {
	if f.None() {
		return nil, nil
	}
	c, err := f.ClientTLS()
	if err != nil {
		return nil, fmt.Errorf("etcd (-etcd-ca, -etcd-cert, -etcd-key): %w", err)
	}
	c.MinVersion = tls.VersionTLS12 // it is not ours to say what etcd speaks
	return c, nil
}
