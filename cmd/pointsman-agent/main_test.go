package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/pointsman/pointsman/agent"
	"github.com/pointsman/pointsman/cmd/daemon"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output calls once when a text appears in what is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	look string
	once func()
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	if o.look != "" && strings.Contains(o.text.String(), o.look) {
		o.once()
	}
	return len(b), nil
}

func TestItServesUntilItIsToldToStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	dir := t.TempDir()
	socket := filepath.Join(dir, "run", "agent.sock")
	served := false
	logs := &output{look: "serving"}
	logs.once = func() {
		_, err := os.Stat(socket)
		served = served || err == nil
		stop()
	}
	args := []string{"-parent", "127.0.0.1:1", "-socket", socket, "-listen", "127.0.0.1:0", "-state-dir", filepath.Join(dir, "state")}
	if code := program(&agent.Config{}).Run(ctx, daemon.Process{Args: args, Stdout: logs, Stderr: logs}); code != daemon.Done {
		t.Fatalf("exit %d\n%s", code, &logs.text)
	}
	if _, err := os.Stat(socket); !served || !os.IsNotExist(err) {
		t.Errorf("the socket was there: %v, and after the end: %v", served, err)
	}
	if !strings.Contains(logs.text.String(), "stopped") {
		t.Error(&logs.text)
	}
}

func TestWrongUsageIsToldFromFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	local := []string{"-parent", "127.0.0.1:1", "-socket", "", "-listen", "127.0.0.1:0", "-state-dir", ""}
	with := func(more ...string) []string { return append(append([]string{}, local...), more...) }
	for name, c := range map[string]struct {
		args []string
		want int
		says []string
	}{
		"help":              {[]string{"-h"}, daemon.Done, []string{"-parent address", "-state-dir folder", "-log-json", "Exit codes", agent.DefaultSocket}},
		"version":           {[]string{"-version"}, daemon.Done, []string{"pointsman-agent "}},
		"no parent":         {nil, daemon.Usage, []string{"parents: none"}},
		"unknown flag":      {[]string{"-parrent", "x"}, daemon.Usage, []string{"-parrent"}},
		"an argument":       {with("serve"), daemon.Usage, []string{`argument "serve"`}},
		"a level":           {with("-log-level", "loud"), daemon.Usage, []string{`log level "loud"`}},
		"open to all":       {with("-listen", ":7410"), daemon.Usage, []string{"not a loopback address"}},
		"nothing to serve":  {with("-listen", ""), daemon.Usage, []string{"socket, listen"}},
		"not a folder":      {with("-state-dir", file), daemon.Failed, []string{file}},
		"socket is a file":  {with("-socket", file), daemon.Failed, []string{"no socket"}},
		"unusable address":  {with("-listen", "127.0.0.1:99999"), daemon.Failed, []string{"listen"}},
		"two faults":        {[]string{"-parent", "x", "-listen", ":1"}, daemon.Usage, []string{`parent "x"`, "not a loopback"}},
		"a remote parent":   {with("-parent", "replica.example:7400"), daemon.Usage, []string{"transport credentials"}},
		"a flag's bad word": {with("-log-json=perhaps"), daemon.Usage, []string{"perhaps"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if code := program(&agent.Config{}).Run(t.Context(), daemon.Process{Args: c.args, Stdout: &out, Stderr: &out}); code != c.want {
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
