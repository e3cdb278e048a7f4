package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/controlplane"
)

// The exit codes.
const (
	exitDone = iota
	exitFailed
	exitUsage
)

const defaultListen = "127.0.0.1:7400"

// process is what the operating system gives.
type process struct {
	args, environ  []string
	stdout, stderr io.Writer
}

// options are what the flags say.
type options struct {
	controlplane.Config
	logLevel string
	logJSON  bool
}

// run is the program but for the process around it.
func run(ctx context.Context, p process) int {
	code := exitUsage
	cmd := command(p, func(o options) (err error) {
		code, err = serve(ctx, p, o)
		return err
	})
	if err := cmd.Execute(); err != nil {
		fmt.Fprintln(p.stderr, "pointsman-controlplane:", err)
		if code == exitUsage {
			fmt.Fprintln(p.stderr, "pointsman-controlplane -h tells about the flags")
		}
		return code
	}
	return exitDone
}

// command reads flags, and the environment where a flag is not given.
func command(p process, then func(options) error) *cobra.Command {
	o := options{Config: controlplane.Config{Version: version()}}
	cmd := &cobra.Command{
		Use:   "pointsman-controlplane",
		Short: "Run one replica of the Pointsman control plane",
		Long: `Runs one replica of the Pointsman control plane: it keeps the catalog in etcd, pushes it to agents and
libraries, gathers their health, and judges endpoints for the fleet. No inference request passes through it.

Give -etcd-endpoints for a cluster, or -data-dir for one etcd member inside this process that listens nowhere.
Each flag can be set as POINTSMAN_ and its name: POINTSMAN_ETCD_ENDPOINTS. Logs go to stderr.
Exit codes: 0 stopped as asked, 1 failed, 2 wrong usage.`,
		Example: `  pointsman-controlplane -data-dir /var/lib/pointsman
  pointsman-controlplane -etcd-endpoints http://10.0.0.1:2379,http://10.0.0.2:2379 -socket /run/pointsman/controlplane.sock`,
		Args: cobra.NoArgs, Version: o.Version, SilenceErrors: true, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return then(o) },
	}
	env := environment(p.environ)
	f := cmd.Flags()
	f.StringVar(&o.Listen, "listen", env.or("LISTEN", defaultListen), "loopback address for gRPC; empty: none")
	f.StringVar(&o.Socket, "socket", env.or("SOCKET", ""), "unix socket for gRPC, for this user alone")
	f.StringSliceVar(&o.EtcdEndpoints, "etcd-endpoints", env.list("ETCD_ENDPOINTS"), "etcd cluster, separated by commas")
	f.StringVar(&o.DataDir, "data-dir", env.or("DATA_DIR", ""), "folder of the etcd member inside this process")
	f.StringVar(&o.Namespace, "namespace", env.or("NAMESPACE", controlplane.DefaultNamespace), "namespace whose catalog is served")
	f.StringVar(&o.logLevel, "log-level", env.or("LOG_LEVEL", "info"), "trace, debug, info, warn or error")
	f.BoolVar(&o.logJSON, "log-json", env.yes("LOG_JSON"), "log JSON")
	cmd.SetArgs(doubleDashes(p.args))
	cmd.SetOut(p.stdout)
	cmd.SetErr(p.stderr)
	cmd.SetVersionTemplate("pointsman-controlplane {{.Version}}\n")
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}

// serve runs a replica. What it is told wrongly is wrong usage; the rest is failure.
func serve(ctx context.Context, p process, o options) (int, error) {
	level := hclog.LevelFromString(o.logLevel)
	if level == hclog.NoLevel {
		return exitUsage, fmt.Errorf("log level %q: none of trace, debug, info, warn, error", o.logLevel)
	}
	if err := o.Check(); err != nil {
		return exitUsage, err
	}
	o.Logger = hclog.New(&hclog.LoggerOptions{Name: "controlplane", Level: level, JSONFormat: o.logJSON, Output: p.stderr})
	s, err := controlplane.New(ctx, o.Config)
	if err != nil {
		return exitFailed, err
	}
	return exitFailed, s.Run(ctx)
}

// doubleDashes lets flags be given with one dash, as they are written everywhere here.
func doubleDashes(args []string) []string {
	out := make([]string, 0, len(args)) // never nil, or cobra would read the process's own
	for _, a := range args {
		if len(a) > 2 && a[0] == '-' && a[1] != '-' {
			a = "-" + a
		}
		out = append(out, a)
	}
	return out
}

// environment holds POINTSMAN_ variables; an empty value is none.
type environment []string

func (e environment) or(name, byDefault string) string {
	for _, v := range e {
		if value, ok := strings.CutPrefix(v, "POINTSMAN_"+name+"="); ok && value != "" {
			return value
		}
	}
	return byDefault
}

func (e environment) list(name string) []string {
	if v := e.or(name, ""); v != "" {
		return strings.Split(v, ",")
	}
	return nil
}

func (e environment) yes(name string) bool {
	yes, err := strconv.ParseBool(e.or(name, ""))
	return err == nil && yes
}

// version is of the build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
