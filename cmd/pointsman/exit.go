package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Exit codes.
const (
	exitDone     = 0
	exitFailed   = 1 // findings, or an error
	exitUsage    = 2
	exitConflict = 3 // somebody else published in between
	exitRefused  = 4 // -force would do it
	exitAsserted = 5 // an assertion does not hold
)

// failure is an error with its exit code and, if there is something, what to do next.
type failure struct {
	code     int
	err      error
	next     string
	away     bool          // who was asked, or the store behind it, cannot be reached
	findings []*pb.Finding // what is wrong with a catalog
	changes  []*pb.Change  // what two catalogs cannot both be right about
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// exit says what went wrong with cmd, once, and gives the exit code.
func (e *env) exit(cmd *cobra.Command, err error) int {
	if err == nil {
		return exitDone
	}
	f, ok := errors.AsType[*failure](err)
	switch {
	case !ok && e.started:
		f = &failure{code: exitFailed, err: err}
	case !ok: // cobra's own: unknown commands, flags and arguments
		f = &failure{code: exitUsage, err: err, next: fmt.Sprintf("see `%s -h`", cmd.CommandPath())}
	}
	if e.json && f.findings != nil {
		err = errors.Join(err, e.printJSON(&pb.CatalogFindings{Findings: f.findings}))
	} else {
		e.report(f.findings)
	}
	printChanges(e.stderr, f.changes)
	fmt.Fprintf(e.stderr, "error: %v\n", err)
	if f.next != "" {
		fmt.Fprintln(e.stderr, f.next)
	}
	return f.code
}
