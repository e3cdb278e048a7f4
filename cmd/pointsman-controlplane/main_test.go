package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/cmd/daemon"
	"github.com/pointsman/pointsman/controlplane"
)

// output can be written to and waited on.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	on   map[string]func() // what to do when a text appears
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	for text, do := range o.on {
		if strings.Contains(o.text.String(), text) {
			do()
		}
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func TestItServesUntilItIsToldToStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	logs := &output{on: map[string]func(){"catalog: serving": stop}}
	args := []string{"-listen", "127.0.0.1:0", "-data-dir", t.TempDir()}
	if code := program(&controlplane.Config{}).Run(ctx, daemon.Process{Args: args, Stdout: logs, Stderr: logs}); code != daemon.Done {
		t.Fatalf("exit %d\n%s", code, logs)
	}
	if !strings.Contains(logs.String(), "stopped") {
		t.Fatal(logs)
	}
}

func TestWrongUsageIsToldFromFailure(t *testing.T) {
	held := filepath.Join(t.TempDir(), "absent", "\x00")
	for name, c := range map[string]struct {
		args []string
		want int
		says []string
	}{
		"help":             {[]string{"-h"}, daemon.Done, []string{"-etcd-endpoints", "-data-dir", "-socket", "-log-json", "Exit codes"}},
		"version":          {[]string{"-version"}, daemon.Done, []string{"pointsman-controlplane "}},
		"no etcd":          {nil, daemon.Usage, []string{"neither etcd endpoints nor a data directory"}},
		"unknown flag":     {[]string{"-lisen", "x"}, daemon.Usage, []string{"-lisen"}},
		"an argument":      {[]string{"serve"}, daemon.Usage, []string{"serve"}},
		"two faults":       {[]string{"-listen", "0.0.0.0:1", "-data-dir", "d", "-etcd-endpoints", "a:1"}, daemon.Usage, []string{"not a loopback address", "choose one"}},
		"a level":          {[]string{"-data-dir", "d", "-log-level", "loud"}, daemon.Usage, []string{`log level "loud"`}},
		"unusable folder":  {[]string{"-listen", "127.0.0.1:0", "-data-dir", held}, daemon.Failed, []string{"data directory"}},
		"unusable address": {[]string{"-listen", "127.0.0.1:99999", "-data-dir", "d"}, daemon.Failed, []string{"listen"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if code := program(&controlplane.Config{}).Run(t.Context(), daemon.Process{Args: c.args, Stdout: &out, Stderr: &out}); code != c.want {
				t.Errorf("exit %d, want %d", code, c.want)
			}
			for _, s := range c.says {
				if !strings.Contains(out.String(), s) {
					t.Errorf("it does not say %q:\n%s", s, out.String())
				}
			}
		})
	}
}
