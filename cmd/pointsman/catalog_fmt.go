package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/controlplane/catalog"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// formatting is one run of catalog fmt.
type formatting struct {
	env         *env
	check, diff bool
	changed     []string
	findings    []*pb.Finding
}

func newCatalogFmt(e *env) *cobra.Command {
	f := &formatting{env: e}
	cmd := &cobra.Command{
		Use:   "fmt [PATH...]",
		Short: "Rewrite catalog files in their canonical form",
		Long: `Rewrites *.hcl files in their canonical form and prints the names of those that changed. A folder stands for
all such files in it and below; no PATH for this folder; "-" for standard input, written to standard output.`,
		Example: `  pointsman catalog fmt
  pointsman catalog fmt -check -diff deploy/examples`,
		RunE: func(_ *cobra.Command, args []string) error { return f.run(args) },
	}
	cmd.Flags().BoolVar(&f.check, "check", false, "change nothing; exit 1 if a file is not in canonical form")
	cmd.Flags().BoolVar(&f.diff, "diff", false, "change nothing; print the differences")
	return cmd
}

func (f *formatting) run(args []string) error {
	if len(args) == 1 && args[0] == "-" {
		return f.stdin()
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	for _, arg := range args {
		if err := filepath.WalkDir(arg, f.visit(arg)); err != nil {
			return err
		}
	}
	if f.env.json {
		if err := f.env.printData(map[string][]string{"changed": append([]string{}, f.changed...)}); err != nil {
			return err
		}
	}
	f.env.report(f.findings)
	switch {
	case len(f.findings) > 0:
		return &failure{code: exitFailed, err: fmt.Errorf("%s, and those files stay as they are", countFindings(f.findings))}
	case f.check && len(f.changed) > 0:
		return &failure{code: exitFailed, err: fmt.Errorf("%s not in canonical form", plural(len(f.changed), "file")), next: "run `pointsman catalog fmt`"}
	}
	return nil
}

// visit formats what is named itself, and the *.hcl files below a folder, but nothing hidden.
func (f *formatting) visit(root string) fs.WalkDirFunc {
	return func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && path != root
		switch {
		case d.IsDir() && hidden:
			return fs.SkipDir
		case d.IsDir() || path != root && (hidden || filepath.Ext(path) != ".hcl"):
			return nil
		}
		return f.file(path)
	}
}

func (f *formatting) file(path string) error {
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	after, findings := catalog.Format(path, before)
	f.findings = append(f.findings, findings...)
	if len(findings) > 0 || bytes.Equal(before, after) {
		return nil
	}
	f.changed = append(f.changed, path)
	switch {
	case f.diff && !f.env.json:
		fmt.Fprint(f.env.stdout, unified(path, string(before), string(after)))
	case !f.env.json:
		fmt.Fprintln(f.env.stdout, path)
	}
	if f.check || f.diff {
		return nil
	}
	return writeFile(path, after)
}

func (f *formatting) stdin() error {
	before, err := io.ReadAll(f.env.stdin)
	if err != nil {
		return err
	}
	after, findings := catalog.Format("<stdin>", before)
	if len(findings) > 0 {
		return refused(findings)
	}
	_, err = f.env.stdout.Write(after)
	return err
}
