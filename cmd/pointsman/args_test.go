package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestLongFlagsMayHaveOneDash(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"a long flag", "status -json", "status --json"},
		{"with a value inline", "plan -var=a=b", "plan --var=a=b"},
		{"two dashes stay", "status --json", "status --json"},
		{"a short flag stays", "publish -m text", "publish -m text"},
		{"what follows a flag with a value is the value", "publish -m -json", "publish -m -json"},
		{"also a long one", "plan -out -json -json", "plan --out -json --json"},
		{"not after an inline value", "plan -out=x -json", "plan --out=x --json"},
		{"a flag without a value takes none", "plan -json -out", "plan --json --out"},
		{"nothing after two dashes alone", "plan -- -json", "plan -- -json"},
		{"a dash alone stays", "fmt -", "fmt -"},
		{"a number is no flag", "explain -5", "explain -5"},
		{"unknown flags too, so that the error names them whole", "status -jsn", "status --jsn"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := normalise(newRoot(&env{}), strings.Fields(tc.in))
			if diff := cmp.Diff(strings.Fields(tc.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoArgumentsAreAnEmptyList(t *testing.T) {
	if got := normalise(newRoot(&env{}), nil); got == nil {
		t.Error("nil: cobra would read the arguments of this process")
	}
}

// normalise looks flags up by name alone.
func TestAFlagTakesAValueInEveryCommandOrInNone(t *testing.T) {
	takes := map[string]string{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		note := func(f *pflag.Flag) {
			for _, name := range []string{f.Name, f.Shorthand} {
				value := f.NoOptDefVal
				if before, ok := takes[name]; ok && before != value && name != "" {
					t.Errorf("%s: -%s takes a value in one command and none in another", cmd.CommandPath(), name)
				}
				takes[name] = value
			}
		}
		cmd.Flags().VisitAll(note)
		cmd.PersistentFlags().VisitAll(note)
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(&env{}))
}

func TestEveryCommandSaysWhatItDoes(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Short == "" {
			t.Errorf("%s has no Short", cmd.CommandPath())
		}
		if !cmd.HasSubCommands() && cmd.Example == "" {
			t.Errorf("%s has no Example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(&env{}))
}
