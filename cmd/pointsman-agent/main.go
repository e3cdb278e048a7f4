// Command pointsman-agent runs the relay of one node.
package main

import (
	"context"
	"flag"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/agent"
	"github.com/pointsman/pointsman/agent/journal"
	"github.com/pointsman/pointsman/agent/metrics"
	"github.com/pointsman/pointsman/cmd/daemon"
)

const (
	defaultStateDir = "/var/lib/pointsman/agent"
	defaultMetrics  = "127.0.0.1:7411"
)

const about = `Runs the relay of one node: it keeps a single stream to the control plane, serves the libraries on this
node from it, and starts from its last good states when the control plane is away. No inference request passes
through it.

  pointsman-agent -parent unix:///run/pointsman/controlplane.sock -locality eu/west
  pointsman-agent -parent 127.0.0.1:7400 -parent 127.0.0.1:7500 -socket "" -listen 127.0.0.1:7410
`

func main() { daemon.Main(program(&agent.Config{Version: daemon.Version()})) }

// program is the agent that c, filled by its flags, describes.
func program(c *agent.Config) daemon.Program {
	return daemon.Program{
		Name: "pointsman-agent", About: about, Metrics: defaultMetrics, TLS: &c.TLS, Check: func() error { return c.Check() },
		Flags: func(f *flag.FlagSet) {
			f.Var((*daemon.List)(&c.Parents), "parent", "`address` of a replica, host:port or unix:///path; repeat it for others, in order of preference")
			f.StringVar(&c.Socket, "socket", agent.DefaultSocket, "unix socket to serve, `path`; its folder says who may connect; empty: none")
			f.StringVar(&c.Listen, "listen", "", "`address` to serve; beyond loopback by TLS, to who has a certificate; empty: none")
			f.StringVar(&c.Dir, "state-dir", defaultStateDir, "`folder` of the last good states; empty: nothing is kept")
			f.Int64Var(&c.RecordsMiB, "records-mib", journal.DefaultBytes>>20, "`MiB` of -state-dir for records of attempts and events; -1: none are kept")
			f.StringVar(&c.Node, "node", "", "`name` of this node in reports; empty: the host name")
			f.StringVar(&c.Locality, "locality", "", "`place` of this node, as the catalog names it")
			f.StringVar(&c.TokenFile, "token-file", "", "`file` with the bearer token that parents are shown; empty: none")
			f.StringVar(&c.LocalToken, "local-token-file", "", "`file` that is made with the token for this host's own user over loopback; empty: token in -state-dir")
			f.Var((*daemon.List)(&c.MetricsHosts), "metrics-hosts", "whose metrics are read and which addresses are tried: `hosts`, host:port, ranges such as 10.0.0.0/8, or none; empty: those of the catalog, but this host")
		},
		Open: func(_ context.Context, log hclog.Logger) (*daemon.Running, error) {
			c.Logger = log
			a, err := agent.New(*c)
			if err != nil {
				return nil, err
			}
			return &daemon.Running{Run: a.Run, Ready: a.Ready, Metrics: metrics.Collector(a.Figures, metrics.Agent())}, nil
		},
	}
}
