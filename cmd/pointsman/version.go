package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set when a release is built: -ldflags "-X main.release=v1.2.3".
var release string

// version is the release, or what the build knows of itself.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func newVersion(e *env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Long:    "Prints the version of this program. `pointsman status` prints the control plane's.",
		Example: "  pointsman version",
		Args:    takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if e.json {
				return e.printData(map[string]string{"version": version(), "go": runtime.Version()})
			}
			_, err := fmt.Fprintf(e.stdout, "pointsman %s (%s)\n", version(), runtime.Version())
			return err
		},
	}
}
