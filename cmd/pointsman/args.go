package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// normalise lets long flags be written with one dash, as in -json: pflag would read a bundle of
// short ones. What follows a flag that takes a value is that value, whatever it looks like.
func normalise(root *cobra.Command, args []string) []string {
	takes := valueFlags(root)
	out := make([]string, 0, len(args)) // never nil, or cobra would read the process's own
	value := false
	for i, arg := range args {
		switch {
		case value:
			value = false
		case arg == "--":
			return append(out, args[i:]...)
		case isFlag(arg):
			arg = doubleDash(arg)
			name, _, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			value = takes[name] && !inline
		}
		out = append(out, arg)
	}
	return out
}

func isFlag(arg string) bool {
	name := strings.TrimLeft(arg, "-")
	return len(name) < len(arg) && name != "" && (name[0] >= 'a' && name[0] <= 'z' || name[0] >= 'A' && name[0] <= 'Z')
}

func doubleDash(arg string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if len(name) > 1 && !strings.HasPrefix(arg, "--") {
		return "-" + arg
	}
	return arg
}

// valueFlags are the names, long and short, of all flags of the tree that take a value.
func valueFlags(cmd *cobra.Command) map[string]bool {
	takes := map[string]bool{}
	note := func(f *pflag.Flag) {
		if f.NoOptDefVal == "" {
			takes[f.Name] = true
			if f.Shorthand != "" {
				takes[f.Shorthand] = true
			}
		}
	}
	cmd.Flags().VisitAll(note)
	cmd.PersistentFlags().VisitAll(note)
	for _, sub := range cmd.Commands() {
		for name := range valueFlags(sub) {
			takes[name] = true
		}
	}
	return takes
}
