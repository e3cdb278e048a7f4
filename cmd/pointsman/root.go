package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/cmd/daemon"
)

// run is the whole program: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	ctx, release, stop := interruptible()
	defer stop()
	out := &sink{Writer: stdout}
	e := &env{stdin: stdin, stdout: out, stderr: stderr, environ: environ, release: release}
	root := newRoot(e)
	root.SetArgs(normalise(root, args))
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && out.err != nil {
		err = &failure{code: exitFailed, err: fmt.Errorf("the answer could not be written: %w", out.err)}
	}
	return e.exit(cmd, err)
}

// interruptible is a context that an interrupt ends; a second one ends the program at once. Released, so does
// the first, and the context goes on.
func interruptible() (ctx context.Context, release, stop func()) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	release = func() { signal.Reset(os.Interrupt, syscall.SIGTERM) }
	context.AfterFunc(ctx, release)
	return ctx, release, stop
}

const about = `Pointsman balances inference over many endpoints, without a proxy: a control plane keeps a versioned catalog
and judges health, and a library inside each service picks an endpoint for each request.

Flags are written with one dash or two: -json, --json. Answers go to stdout, findings and errors to stderr.
With -json the answer is the JSON form of the message in proto/pointsman/v1: names as there, 64-bit integers as
strings, durations in microseconds.

Exit codes: 0 done, 1 findings or an error, 2 wrong usage, 3 somebody else published in between, 4 refused without -force,
5 an assertion does not hold.

Environment: POINTSMAN_ADDR, POINTSMAN_TOKEN_FILE and POINTSMAN_NAMESPACE stand for -addr, -token-file and -namespace;
POINTSMAN_TLS_CA, POINTSMAN_TLS_CERT and POINTSMAN_TLS_KEY for -tls-ca, -tls-cert and -tls-key;
POINTSMAN_AGENT for -agent of the commands that ask an agent; POINTSMAN_VAR_name sets a variable of the catalog.`

// newRoot is the command tree.
func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:           "pointsman",
		Short:         "Balance inference over many endpoints, without a proxy",
		Long:          about,
		Version:       daemon.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if e.timeout <= 0 {
				return usagef(cmd, "-timeout %v: want more than nothing", e.timeout)
			}
			e.started = true
			return nil
		},
	}
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	e.flags(root.PersistentFlags())
	root.AddCommand(
		newCatalog(e),
		newEndpoint(e),
		newBreaker(e),
		newClient(e),
		newAgent(e),
		newStatus(e),
		newExplain(e),
		newToken(e),
		newRole(e),
		newDecision(e),
		newEvent(e),
		newAudit(e),
		newOperator(e),
		newVersion(e),
		newDev(e),
		newSimulate(e),
	)
	return root
}

// noun is a command that only holds verbs.
func noun(use, short string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	cmd.AddCommand(verbs...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef(cmd, "%s needs a verb: %s", cmd.CommandPath(), strings.Join(verbNames(cmd), ", "))
		}
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return usagef(cmd, "%s has no verb %q: did you mean %s?", cmd.CommandPath(), args[0], strings.Join(near, " or "))
		}
		return usagef(cmd, "%s has no verb %q: it has %s", cmd.CommandPath(), args[0], strings.Join(verbNames(cmd), ", "))
	}
	cmd.SuggestionsMinimumDistance = 2
	return cmd
}

// takes wants so many arguments.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef(cmd, "something is missing: %s", fullUse(cmd))
		case len(args) > most:
			return usagef(cmd, "%q is too much: %s", args[most], fullUse(cmd))
		}
		return nil
	}
}

func fullUse(cmd *cobra.Command) string { return cmd.Parent().CommandPath() + " " + cmd.Use }

func verbNames(cmd *cobra.Command) []string {
	var names []string
	for _, verb := range cmd.Commands() {
		names = append(names, verb.Name())
	}
	return names
}

func usagef(cmd *cobra.Command, format string, args ...any) error {
	return &failure{
		code: exitUsage, err: fmt.Errorf(format, args...),
		next: fmt.Sprintf("see `%s -h`", cmd.CommandPath()),
	}
}
