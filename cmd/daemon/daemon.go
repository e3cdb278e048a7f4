// Package daemon is what the programs that run until they are told to stop have in
// common: flags that the environment can give too, logs, signals and exit codes.
package daemon

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/hashicorp/go-hclog"
)

// The exit codes.
const (
	Done = iota
	Failed
	Usage
)

// Program is one daemon.
type Program struct {
	Name  string // pointsman-agent; logs are named without the prefix
	About string // printed by -h, before the flags
	Flags func(*flag.FlagSet)
	Check func() error // of what the flags say: wrong usage
	Serve func(context.Context, hclog.Logger) error
}

// Process is what the operating system gives.
type Process struct {
	Args, Environ  []string
	Stdout, Stderr io.Writer
}

// Main runs a program in this process and exits. A first signal stops it, a second ends it at once.
func Main(p Program) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := fitBuffers(); err != nil {
		panic(err) // the sizes are constants
	}
	os.Exit(p.Run(ctx, Process{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}))
}

// Run is the program but for the process around it: it returns the exit code.
func (p Program) Run(ctx context.Context, in Process) int {
	var o own
	err := p.parse(&o, in)
	switch {
	case errors.Is(err, flag.ErrHelp):
		p.help(in.Stdout)
		return Done
	case err == nil && o.version:
		fmt.Fprintln(in.Stdout, p.Name, Version())
		return Done
	case err == nil:
		err = errors.Join(CheckLevel(o.level), p.Check())
	}
	if err != nil {
		fmt.Fprintf(in.Stderr, "%s: %v\n%s -h tells about the flags\n", p.Name, err, p.Name)
		return Usage
	}
	if err := p.Serve(ctx, o.logger(p.Name, in.Stderr)); err != nil {
		fmt.Fprintf(in.Stderr, "%s: %v\n", p.Name, err)
		return Failed
	}
	return Done
}
