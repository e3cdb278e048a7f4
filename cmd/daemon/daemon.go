// Package daemon is what the programs that run until they are told to stop have in
// common: flags that the environment can give too, logs, signals and exit codes, and an
// address of their own for metrics and health.
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
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pointsman/pointsman/clientlib/cert"
)

// The exit codes.
const (
	Done = iota
	Failed
	Usage
)

// Program is one daemon.
type Program struct {
	Name    string      // pointsman-agent; logs are named without the prefix
	About   string      // printed by -h, before the flags
	Metrics string      // where -metrics-listen is by default
	TLS     *cert.Files // takes -tls-ca, -tls-cert and -tls-key
	Flags   func(*flag.FlagSet)
	Check   func() error // of what the flags say: wrong usage
	Open    func(context.Context, hclog.Logger) (*Running, error)
}

// Running is a program that was opened, and what is known of it.
type Running struct {
	Run     func(context.Context) error // until ctx ends; it ends what Open began, too
	Ready   func() error                // why it is not; nil: it is
	Metrics prometheus.Collector
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
	if errors.Is(err, flag.ErrHelp) {
		p.help(in.Stdout)
		return Done
	}
	if err == nil && !o.version && !o.healthcheck {
		err = errors.Join(CheckLevel(o.level), o.checkAddresses(p.TLS), p.Check())
	}
	if err != nil {
		fmt.Fprintf(in.Stderr, "%s: %v\n%s -h tells about the flags\n", p.Name, err, p.Name)
		return Usage
	}
	if err := p.act(ctx, &o, in); err != nil {
		fmt.Fprintf(in.Stderr, "%s: %v\n", p.Name, err)
		return Failed
	}
	return Done
}

// act does what the flags ask for.
func (p Program) act(ctx context.Context, o *own, in Process) error {
	switch {
	case o.version:
		fmt.Fprintln(in.Stdout, p.Name, Version())
		return nil
	case o.healthcheck:
		return o.healthCheck(ctx, in.Stdout)
	case o.check:
		fmt.Fprintf(in.Stdout, "%s: the flags are well\n", p.Name)
		return nil
	}
	return p.serve(ctx, o, o.logger(p.Name, in.Stderr))
}

// serve opens and runs the program. Its health can be asked for from the beginning.
func (p Program) serve(ctx context.Context, o *own, log hclog.Logger) error {
	seen := newPages()
	servers, err := o.listen(seen, p.TLS, log)
	if err != nil {
		return err
	}
	defer servers.stop()
	r, err := p.Open(ctx, log)
	if err != nil {
		return err
	}
	seen.show(r)
	return r.Run(ctx)
}
