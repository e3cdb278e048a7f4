package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newCatalogPull(e *env) *cobra.Command {
	var out string
	var force bool
	cmd := &cobra.Command{
		Use:   "pull [REVISION | TAG] -out DIR",
		Short: "Write a revision's sources to a folder",
		Long: `Writes the HCL files that a revision was published from; without an argument, of the newest published one. A file
that is there and differs is overwritten only with -force: otherwise nothing is written and the exit code is 4.`,
		Example:           "  pointsman catalog pull 12 -out catalog",
		Args:              takes(0, 1),
		ValidArgsFunction: e.completeRevisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usagef(cmd, "no folder to write to: give -out DIR")
			}
			request := &pb.PullRequest{Namespace: e.namespace}
			request.Revision, request.Tag = revisionArg(args)
			return e.pull(cmd.Context(), request, target{out, force})
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`folder` to write to; it is made if it is not there")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite files that differ")
	return cmd
}

// revisionArg reads the argument that names a revision, by number or by tag; none is 0.
func revisionArg(args []string) (revision uint64, tag string) {
	if len(args) == 0 {
		return 0, ""
	}
	if n, err := strconv.ParseUint(args[0], 10, 64); err == nil && n > 0 {
		return n, ""
	}
	return 0, args[0]
}

// target is a folder that sources are written to.
type target struct {
	dir   string
	force bool
}

func (e *env) pull(ctx context.Context, request *pb.PullRequest, to target) error {
	answer, err := call(ctx, e, services.Pull, request)
	if err != nil {
		return err
	}
	if err := to.write(answer.GetSources().GetFiles()); err != nil {
		return err
	}
	e.reportStrays(to.dir, answer.GetSources().GetFiles())
	return e.print(answer.GetInfo(), func(w io.Writer) {
		fmt.Fprintf(w, "revision %d: %s in %s\n", answer.GetInfo().GetRevision(), plural(len(answer.GetSources().GetFiles()), "file"), to.dir)
		for _, v := range answer.GetSources().GetVariables() {
			fmt.Fprintf(w, "published with -var %s\n", shellQuote(v.Name+"="+v.Value))
		}
	})
}

// write looks at every file before it writes the first.
func (t target) write(files []*pb.SourceFile) error {
	var differing []string
	for _, f := range files {
		if !filepath.IsLocal(f.Name) {
			return fmt.Errorf("the revision has a file %q, which is outside of a folder", f.Name)
		}
		here, err := os.ReadFile(filepath.Join(t.dir, f.Name))
		switch {
		case err == nil && !bytes.Equal(here, f.Content):
			differing = append(differing, filepath.Join(t.dir, f.Name))
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if len(differing) > 0 && !t.force {
		return &failure{code: exitRefused, err: fmt.Errorf("these differ: %s", strings.Join(differing, ", ")), next: "overwrite them with -force, or pull to another folder"}
	}
	for _, f := range files {
		path := filepath.Join(t.dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := writeFile(path, f.Content); err != nil {
			return err
		}
	}
	return nil
}

// reportStrays warns of files that would be read together with the revision's.
func (e *env) reportStrays(dir string, files []*pb.SourceFile) {
	names, err := filepath.Glob(filepath.Join(dir, "*.hcl"))
	if err != nil {
		return // the pattern is bad, not the folder
	}
	for _, name := range names {
		if !slices.ContainsFunc(files, func(f *pb.SourceFile) bool { return filepath.Join(dir, f.Name) == name }) {
			fmt.Fprintf(e.stderr, "warning: %s is not part of the revision\n", name)
		}
	}
}

func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
