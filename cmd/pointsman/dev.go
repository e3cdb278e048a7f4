package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/cmd/daemon"
	"github.com/pointsman/pointsman/cmd/pointsman/dev"
)

func newDev(e *env) *cobra.Command {
	var c dev.Config
	var level string
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on loopback, with real requests and a live table",
		Long: `Runs all of Pointsman on loopback in one process: an embedded etcd, a control plane, an agent, an example catalog,
four fake endpoints over real HTTP (gpu-a, gpu-b, gpu-c, and cloud behind them), and callers that use the library through
the agent. One more caller, lone, sends one request a second: it has too little traffic to notice a fault by itself.

On a terminal a table shows how requests are shared until you interrupt it. The endpoints check for themselves what they
may be sent, and count violations. With -json one object at the end says what was measured.

A fault is NAME=KIND[:HOW][@FROM[-TO]], its times counted from the first request: fail (500 at once), slow (the first token
1.5s late, or :x4, :2s), hang (never answers), throttle (429), and more: an unknown kind is answered with their names.`,
		Example: `  pointsman dev
  pointsman dev -duration 30s -fault 'gpu-b=fail@8s-18s' -json
  pointsman dev -trace azure_llm_2023_conv.csv.gz -speed 20`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(c.Check(), daemon.CheckLevel(level)); err != nil {
				return usagef(cmd, "%w", err)
			}
			c.Token = dev.TokenFile()
			c.Logger = hclog.New(&hclog.LoggerOptions{Name: "pointsman", Level: hclog.LevelFromString(level), Output: e.stderr})
			return e.runDev(cmd.Context(), c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Trace, "trace", "", "conversation trace to replay, .csv or .csv.gz (default: arrivals made up in its shape)")
	f.Float64Var(&c.Speed, "speed", dev.DefaultSpeed, "scales arrivals and token times alike")
	f.IntVar(&c.Callers, "callers", dev.DefaultCallers, "callers besides lone")
	f.DurationVar(&c.Duration, "duration", 0, "how long to send (default: until interrupted)")
	f.StringArrayVar(&c.Faults, "fault", nil, "a fault at an endpoint, such as gpu-b=fail@8s-18s; may be repeated")
	f.StringVar(&c.Listen, "listen", dev.DefaultListen, "where the control plane listens; another port is taken when it is in use")
	f.StringVar(&level, "log-level", "error", "of what the parts log to stderr: error, warn, info, debug")
	return cmd
}

func (e *env) runDev(ctx context.Context, c dev.Config) error {
	if isTerminal(e.stdout) && !e.json {
		c.Table = e.stdout
	}
	r, err := dev.Run(ctx, c)
	if err != nil {
		return err
	}
	for _, trouble := range r.Troubles {
		fmt.Fprintln(e.stderr, trouble)
	}
	if e.json {
		return e.printData(r)
	}
	_, err = fmt.Fprint(e.stdout, r.Text())
	return err
}
