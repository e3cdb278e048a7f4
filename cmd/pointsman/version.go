package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/cmd/daemon"
)

func newVersion(e *env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Long:    "Prints the version of this program. `pointsman status` prints the control plane's.",
		Example: "  pointsman version",
		Args:    takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if e.json {
				return e.printData(map[string]string{"version": daemon.Version(), "go": runtime.Version()})
			}
			_, err := fmt.Fprintf(e.stdout, "pointsman %s (%s)\n", daemon.Version(), runtime.Version())
			return err
		},
	}
}
