package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/cmd/daemon"
	"github.com/pointsman/pointsman/controlplane"
	"github.com/pointsman/pointsman/test/deployed"
)

// What deploy/ runs this program with is understood by it, names and values.
func TestWhatIsDeployedPassesTheCheck(t *testing.T) {
	all, err := deployed.Commands("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, c := range all {
		if c.Program != "pointsman-controlplane" {
			continue
		}
		checked++
		t.Run(c.Where, func(t *testing.T) {
			c, err := c.In(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Args)+len(c.Environ) < 3 {
				c.Args = append(c.Args, minimum...) // an image is told the rest when it is run
			}
			var out bytes.Buffer
			args := append([]string{"-check"}, c.Args...)
			args = append(args, "-healthcheck=false") // that asks nobody what the flags are
			if code := program(&controlplane.Config{}).Run(t.Context(), daemon.Process{Args: args, Environ: c.Environ, Stdout: &out, Stderr: &out}); code != daemon.Done {
				t.Errorf("exit %d: %s", code, &out)
			}
			known := program(&controlplane.Config{}).Variables()
			for _, e := range c.Environ {
				if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "POINTSMAN_") && !known[name] {
					t.Errorf("%s is no setting", name)
				}
			}
		})
	}
	if checked < 4 {
		t.Errorf("%d ways to run it", checked)
	}
}

var minimum = []string{"-data-dir", "/var/lib/pointsman"}
