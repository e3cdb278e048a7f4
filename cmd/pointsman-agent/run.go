package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/agent"
)

// The exit codes.
const (
	exitDone = iota
	exitFailed
	exitUsage
)

// process is what the operating system gives.
type process struct {
	args, environ  []string
	stdout, stderr io.Writer
}

// run is the program but for the process around it.
func run(ctx context.Context, p process) int {
	o, err := parse(p)
	switch {
	case errors.Is(err, flag.ErrHelp):
		help(p.stdout)
		return exitDone
	case err == nil && o.version:
		fmt.Fprintln(p.stdout, "pointsman-agent", o.Version)
		return exitDone
	case err == nil:
		err = o.check()
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "pointsman-agent: %v\npointsman-agent -h tells about the flags\n", err)
		return exitUsage
	}
	if err := serve(ctx, p, o); err != nil {
		fmt.Fprintln(p.stderr, "pointsman-agent:", err)
		return exitFailed
	}
	return exitDone
}

func serve(ctx context.Context, p process, o options) error {
	o.Logger = hclog.New(&hclog.LoggerOptions{
		Name: "agent", Level: hclog.LevelFromString(o.logLevel), JSONFormat: o.logJSON, Output: p.stderr,
	})
	a, err := agent.New(o.Config)
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// version is of the build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
