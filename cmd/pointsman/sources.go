package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pointsman/pointsman/controlplane/catalog"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// folder is a catalog on disk with the values of its variables.
type folder struct {
	vars, varFiles []string
}

func (f *folder) flags(set *pflag.FlagSet) {
	set.StringArrayVar(&f.vars, "var", nil, "set a variable: `name=value`; may be given again")
	set.StringArrayVar(&f.varFiles, "var-file", nil, "`file` of name = value lines; may be given again")
}

// load reads a folder and its variables.
func (f *folder) load(e *env, dir string) (*pb.Sources, error) {
	sources, err := catalog.Load(dir)
	if err != nil {
		return nil, err
	}
	e.dir = dir
	var files []*pb.SourceFile
	for _, name := range f.varFiles {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("variables: %w", err)
		}
		files = append(files, &pb.SourceFile{Name: name, Content: content})
	}
	sources.Variables, err = catalog.Variables(sources, f.vars, files, e.environ)
	return sources, err
}

// dirArg is the folder that a command names, or this one.
func dirArg(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// completeDirs lets the shell complete folders.
func completeDirs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
