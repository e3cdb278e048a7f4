package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/agent"
)

const (
	defaultSocket   = "/run/pointsman/agent.sock"
	defaultStateDir = "/var/lib/pointsman/agent"
)

const about = `Runs the relay of one node: it keeps a single stream to the control plane, serves the libraries on this
node from it, and starts from its last good states when the control plane is away. No inference request passes
through it.

  pointsman-agent -parent unix:///run/pointsman/controlplane.sock -locality eu/west
  pointsman-agent -parent 127.0.0.1:7400 -parent 127.0.0.1:7401 -socket "" -listen 127.0.0.1:7410

Each flag can be set as POINTSMAN_ and its name: POINTSMAN_STATE_DIR; parents as POINTSMAN_PARENTS, separated by
commas. Logs go to stderr. Exit codes: 0 stopped as asked, 1 failed, 2 wrong usage.

Flags:
`

// options are what the flags say.
type options struct {
	agent.Config
	logLevel string
	logJSON  bool
	version  bool
}

// parents is a flag that may be repeated, or hold several separated by commas.
type parents []string

func (p *parents) String() string { return strings.Join(*p, ",") }

func (p *parents) Set(s string) error {
	*p = append(*p, strings.Split(s, ",")...)
	return nil
}

func flags(o *options) *flag.FlagSet {
	f := flag.NewFlagSet("pointsman-agent", flag.ContinueOnError)
	f.SetOutput(io.Discard) // run says what is wrong
	f.Var((*parents)(&o.Parents), "parent", "`address` of a replica, host:port or unix:///path; repeat it for others, in order of preference")
	f.StringVar(&o.Socket, "socket", defaultSocket, "unix socket to serve, `path`; its folder says who may connect; empty: none")
	f.StringVar(&o.Listen, "listen", "", "loopback `address` to serve; empty: none")
	f.StringVar(&o.Dir, "state-dir", defaultStateDir, "`folder` of the last good states; empty: nothing is kept")
	f.StringVar(&o.Node, "node", "", "`name` of this node in reports; empty: the host name")
	f.StringVar(&o.Locality, "locality", "", "`place` of this node, as the catalog names it")
	f.StringVar(&o.logLevel, "log-level", "info", "`level`: trace, debug, info, warn or error")
	f.BoolVar(&o.logJSON, "log-json", false, "log JSON")
	f.BoolVar(&o.version, "version", false, "print the version")
	return f
}

// parse reads flags, and the environment where a flag is not given.
func parse(p process) (options, error) {
	o := options{Config: agent.Config{Version: version()}}
	f := flags(&o)
	if err := f.Parse(p.args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("argument %q: there are flags only", f.Arg(0))
	}
	given := map[string]bool{}
	f.Visit(func(a *flag.Flag) { given[a.Name] = true })
	var err error
	f.VisitAll(func(a *flag.Flag) {
		value := variable(p.environ, a.Name)
		if given[a.Name] || a.Name == "version" || value == "" || err != nil {
			return
		}
		if err = f.Set(a.Name, value); err != nil {
			err = fmt.Errorf("%s: %w", variableOf(a.Name), err)
		}
	})
	return o, err
}

// variableOf names the environment's word for a flag.
func variableOf(flag string) string {
	if flag == "parent" {
		return "POINTSMAN_PARENTS"
	}
	return "POINTSMAN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// variable is a flag's value in the environment; an empty one is none.
func variable(environ []string, flag string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, variableOf(flag)+"="); ok {
			return value
		}
	}
	return ""
}

func (o options) check() error {
	if hclog.LevelFromString(o.logLevel) == hclog.NoLevel {
		return fmt.Errorf("log level %q: none of trace, debug, info, warn, error", o.logLevel)
	}
	return o.Config.Check()
}

func help(w io.Writer) {
	fmt.Fprint(w, about)
	var o options
	f := flags(&o)
	f.SetOutput(w)
	f.PrintDefaults()
}
