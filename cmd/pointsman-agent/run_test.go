package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
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
	if code := run(ctx, process{args: args, stdout: logs, stderr: logs}); code != exitDone {
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
		"help":              {[]string{"-h"}, exitDone, []string{"-parent address", "-state-dir folder", "-log-json", "Exit codes", defaultSocket}},
		"version":           {[]string{"-version"}, exitDone, []string{"pointsman-agent "}},
		"no parent":         {nil, exitUsage, []string{"parents: none"}},
		"unknown flag":      {[]string{"-parrent", "x"}, exitUsage, []string{"-parrent"}},
		"an argument":       {with("serve"), exitUsage, []string{`argument "serve"`}},
		"a level":           {with("-log-level", "loud"), exitUsage, []string{`log level "loud"`}},
		"open to all":       {with("-listen", ":7410"), exitUsage, []string{"not a loopback address"}},
		"nothing to serve":  {with("-listen", ""), exitUsage, []string{"socket, listen"}},
		"not a folder":      {with("-state-dir", file), exitFailed, []string{file}},
		"socket is a file":  {with("-socket", file), exitFailed, []string{"no socket"}},
		"unusable address":  {with("-listen", "127.0.0.1:99999"), exitFailed, []string{"listen"}},
		"two faults":        {[]string{"-parent", "x", "-listen", ":1"}, exitUsage, []string{`parent "x"`, "not a loopback"}},
		"a remote parent":   {with("-parent", "replica.example:7400"), exitUsage, []string{"transport credentials"}},
		"a flag's bad word": {with("-log-json=perhaps"), exitUsage, []string{"perhaps"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if code := run(t.Context(), process{args: c.args, stdout: &out, stderr: &out}); code != c.want {
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

func TestTheEnvironmentStandsInForFlags(t *testing.T) {
	got, err := parse(process{
		args:    []string{"-parent", "a:1", "-parent", "b:2", "-socket", ""},
		environ: []string{"POINTSMAN_PARENTS=c:3", "POINTSMAN_SOCKET=/s", "POINTSMAN_STATE_DIR=/d", "POINTSMAN_LOG_JSON=true", "POINTSMAN_NODE="},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a:1", "b:2"}, got.Parents); diff != "" || got.Socket != "" || got.Dir != "/d" || !got.logJSON || got.Node != "" {
		t.Errorf("got %+v", got)
	}
	got, err = parse(process{environ: []string{"POINTSMAN_PARENTS=c:3,d:4"}})
	if diff := cmp.Diff([]string{"c:3", "d:4"}, got.Parents); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err = parse(process{environ: []string{"POINTSMAN_LOG_JSON=perhaps"}}); err == nil || !strings.Contains(err.Error(), "POINTSMAN_LOG_JSON") {
		t.Errorf("a bad word in the environment: %v", err)
	}
}
