// Command pointsman-controlplane runs one replica of the control plane.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	os.Exit(run(ctx, process{args: os.Args[1:], environ: os.Environ(), stdout: os.Stdout, stderr: os.Stderr}))
}
