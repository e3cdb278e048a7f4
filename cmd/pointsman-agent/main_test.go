package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
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

// output says when a text first appears in what is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	look string
	seen chan struct{} // closed then
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	if o.look != "" && strings.Contains(o.text.String(), o.look) {
		o.look = ""
		close(o.seen)
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// free is an address that nobody listens on, until somebody does.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(b)
}

func TestItServesUntilItIsToldToStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	dir, at := t.TempDir(), free(t)
	socket := filepath.Join(dir, "run", "agent.sock")
	logs := &output{look: "serving", seen: make(chan struct{})}
	args := []string{"-parent", "127.0.0.1:1", "-socket", socket, "-listen", "127.0.0.1:0", "-state-dir", filepath.Join(dir, "state"), "-metrics-listen", at}
	ended := make(chan int, 1)
	go func() {
		ended <- program(&agent.Config{}).Run(ctx, daemon.Process{Args: args, Stdout: logs, Stderr: logs})
	}()
	select {
	case <-logs.seen:
	case code := <-ended:
		t.Fatalf("exit %d\n%s", code, logs)
	}
	if _, err := os.Stat(socket); err != nil {
		t.Error(err)
	}
	if status, body := get(t, "http://"+at+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "no parent was reached yet") {
		t.Errorf("ready without a parent: %d, %s", status, body)
	}
	if status, body := get(t, "http://"+at+"/metrics"); status != http.StatusOK || !strings.Contains(body, "pointsman_parent_connected 0\n") {
		t.Errorf("metrics: %d\n%s", status, body)
	}
	stop()
	if code := <-ended; code != daemon.Done || !strings.Contains(logs.String(), "stopped") {
		t.Errorf("exit %d\n%s", code, logs)
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket after the end: %v", err)
	}
}

func TestWrongUsageIsToldFromFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	local := []string{
		"-parent", "127.0.0.1:1", "-socket", "", "-listen", "127.0.0.1:0", "-state-dir", "", "-metrics-listen", "",
		"-local-token-file", filepath.Join(t.TempDir(), "token"),
	}
	with := func(more ...string) []string { return append(append([]string{}, local...), more...) }
	for name, c := range map[string]struct {
		args []string
		want int
		says []string
	}{
		"help":               {[]string{"-h"}, daemon.Done, []string{"-parent address", "-state-dir folder", "-log-json", "Exit codes", agent.DefaultSocket}},
		"version":            {[]string{"-version"}, daemon.Done, []string{"pointsman-agent "}},
		"no parent":          {nil, daemon.Usage, []string{"parents: none"}},
		"unknown flag":       {[]string{"-parrent", "x"}, daemon.Usage, []string{"-parrent"}},
		"an argument":        {with("serve"), daemon.Usage, []string{`argument "serve"`}},
		"a level":            {with("-log-level", "loud"), daemon.Usage, []string{`log level "loud"`}},
		"open to all":        {with("-listen", ":7410"), daemon.Usage, []string{"not a loopback address"}},
		"nothing to serve":   {with("-listen", ""), daemon.Usage, []string{"socket, listen"}},
		"not a folder":       {with("-state-dir", file), daemon.Failed, []string{file}},
		"socket is a file":   {with("-socket", file), daemon.Failed, []string{"no socket"}},
		"unusable address":   {with("-listen", "127.0.0.1:99999"), daemon.Failed, []string{"listen"}},
		"two faults":         {[]string{"-parent", "x", "-listen", ":1"}, daemon.Usage, []string{`parent "x"`, "not a loopback"}},
		"a remote parent":    {with("-parent", "replica.example:7400"), daemon.Usage, []string{"reached by TLS only"}},
		"a check":            {with("-check"), daemon.Done, []string{"the flags are well"}},
		"a check of a fault": {with("-check", "-metrics-hosts", "10.0.0.0/99"), daemon.Usage, []string{"metrics hosts"}},
		"half a key":         {with("-tls-cert", file), daemon.Usage, []string{"go together"}},
		"metrics for all":    {with("-metrics-listen", ":7411"), daemon.Usage, []string{"-tls-cert and -tls-key"}},
		"a flag's bad word":  {with("-log-json=perhaps"), daemon.Usage, []string{"perhaps"}},
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
