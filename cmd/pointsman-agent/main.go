// Command pointsman-agent runs the relay of one node.
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
	if err := fitBuffers(); err != nil {
		panic(err) // the sizes are constants
	}
	os.Exit(run(ctx, process{args: os.Args[1:], environ: os.Environ(), stdout: os.Stdout, stderr: os.Stderr}))
}
