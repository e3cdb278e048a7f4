package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if code := run(ctx, process{args: args, stdout: logs, stderr: logs}); code != exitDone {
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
		"help":             {[]string{"-h"}, exitDone, []string{"--etcd-endpoints", "--data-dir", "--socket", "--log-json", "Exit codes"}},
		"version":          {[]string{"-version"}, exitDone, []string{"pointsman-controlplane "}},
		"no etcd":          {nil, exitUsage, []string{"neither etcd endpoints nor a data directory"}},
		"unknown flag":     {[]string{"-lisen", "x"}, exitUsage, []string{"unknown flag: --lisen"}},
		"an argument":      {[]string{"serve"}, exitUsage, []string{"serve"}},
		"two faults":       {[]string{"-listen", "0.0.0.0:1", "-data-dir", "d", "-etcd-endpoints", "a:1"}, exitUsage, []string{"not loopback", "choose one"}},
		"a level":          {[]string{"-data-dir", "d", "-log-level", "loud"}, exitUsage, []string{`log level "loud"`}},
		"unusable folder":  {[]string{"-listen", "127.0.0.1:0", "-data-dir", held}, exitFailed, []string{"data directory"}},
		"unusable address": {[]string{"-listen", "127.0.0.1:99999", "-data-dir", "d"}, exitFailed, []string{"listen"}},
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
	environ := []string{"POINTSMAN_SOCKET=/a", "POINTSMAN_ETCD_ENDPOINTS=x:1,y:2", "POINTSMAN_LOG_JSON=true", "POINTSMAN_NAMESPACE=", "POINTSMAN_LISTEN=127.0.0.1:1"}
	var got options
	cmd := command(process{args: []string{"-listen", ""}, environ: environ}, func(o options) error {
		got = o
		return nil
	})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	want := options{logLevel: "info", logJSON: true}
	want.Socket, want.EtcdEndpoints, want.Namespace, want.Version = "/a", []string{"x:1", "y:2"}, "default", got.Version
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{})); diff != "" {
		t.Fatal(diff)
	}
}
