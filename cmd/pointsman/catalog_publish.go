package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/cmd/daemon"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// publication is one run of catalog publish.
type publication struct {
	env             *env
	folder          folder
	message, author string
	force, anyBase  bool
	yes             bool
}

func newCatalogPublish(e *env) *cobra.Command {
	p := &publication{env: e}
	cmd := &cobra.Command{
		Use:   "publish [PLAN | DIR]",
		Short: "Store a catalog as a revision and serve it",
		Long: `Publishes what a plan holds, or what a folder holds now. Either way it carries the revision that was compared with:
if somebody published in between, nothing happens and the exit code is 3 (unless -any-base is given). A folder's changes are shown first, and on a
terminal you are asked. What would leave the catalog without a workload needs -force (exit code 4 without it).`,
		Example: `  pointsman catalog publish plan.json -m "raise the limit of gpu-b"
  pointsman catalog publish deploy/examples/catalog -m "nightly" -json`,
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd.Context(), dirArg(args)) },
	}
	p.folder.flags(cmd.Flags())
	cmd.Flags().StringVarP(&p.message, "message", "m", "", "what this changes and why")
	cmd.Flags().StringVar(&p.author, "author", e.user(), "who publishes; the connection's identity is recorded besides")
	cmd.Flags().BoolVar(&p.force, "force", false, "publish although it leaves no workload")
	cmd.Flags().BoolVar(&p.anyBase, "any-base", false, "publish whatever was published in between")
	cmd.Flags().BoolVar(&p.yes, "yes", false, "do not ask, on a terminal either")
	return cmd
}

func (p *publication) run(ctx context.Context, path string) error {
	request := &pb.PublishRequest{
		Namespace: p.env.namespace, Message: p.message, Author: p.author, Force: p.force, AnyBase: p.anyBase, ToolVersion: daemon.Version(),
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case info.IsDir():
		err = p.fromFolder(ctx, path, request)
	default:
		err = p.fromPlan(ctx, path, request)
	}
	if err != nil {
		return err
	}
	answer, err := call(ctx, p.env, services.Publish, request)
	if err != nil {
		return err
	}
	return p.env.print(answer, func(w io.Writer) {
		if !info.IsDir() { // a folder's warnings and changes were shown before
			p.env.report(answer.Findings)
			printChanges(w, answer.Changes)
		}
		printPublished(w, request.Base, answer)
	})
}

func (p *publication) fromPlan(ctx context.Context, path string, request *pb.PublishRequest) error {
	plan, sources, err := p.env.readPlan(path)
	if err != nil {
		return err
	}
	request.Base, request.Sources = plan.Base, sources
	return p.env.checkPlan(ctx, plan, sources)
}

// fromFolder plans, shows the plan and, on a terminal, asks.
func (p *publication) fromFolder(ctx context.Context, path string, request *pb.PublishRequest) error {
	sources, plan, err := p.folder.plan(ctx, p.env, path)
	if err != nil {
		return err
	}
	request.Base, request.Sources = plan.Base, sources
	ask := !p.yes && p.env.interactive()
	switch {
	case !p.env.json:
		printPlan(p.env.stdout, plan)
	case ask:
		printPlan(p.env.stderr, plan)
	}
	if !ask {
		return nil
	}
	return p.env.confirm("publish this? [y/N] ")
}

// confirm asks on the terminal; anything but yes is an error.
func (e *env) confirm(question string) error {
	answer, err := e.ask(question)
	if err != nil {
		return err
	}
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		return errors.New("you did not say yes: nothing happened")
	}
	return nil
}

func printPublished(w io.Writer, base uint64, answer *pb.PublishResponse) {
	head, done := answer.GetHead(), "published revision %d, generation %d\n"
	if answer.Revision == base {
		done = "nothing to publish: it is revision %d, generation %d\n"
	}
	fmt.Fprintf(w, done, answer.Revision, head.GetGeneration())
	if answer.HeldByPin {
		fmt.Fprintf(w, "held by pin %d: run `pointsman catalog unpin` to serve it\n", head.GetPin())
	}
	for _, pin := range head.GetPins() {
		fmt.Fprintf(w, "workload %s stays at revision %d: run `pointsman catalog unpin -workload %s` to move it\n", pin.Workload, pin.Revision, pin.Workload)
	}
}
