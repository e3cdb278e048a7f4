package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pointsman/pointsman/cmd/daemon"
	"github.com/pointsman/pointsman/controlplane"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

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
	answer, err := http.Get(url)
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
	at, listen := free(t), free(t)
	logs := &output{look: "catalog: serving", seen: make(chan struct{})}
	args := []string{"-listen", listen, "-data-dir", t.TempDir(), "-metrics-listen", at}
	ended := make(chan int, 1)
	go func() {
		ended <- program(&controlplane.Config{}).Run(ctx, daemon.Process{Args: args, Stdout: logs, Stderr: logs})
	}()
	select {
	case <-logs.seen:
	case code := <-ended:
		t.Fatalf("exit %d\n%s", code, logs)
	}
	if status, body := get(t, "http://"+at+"/readyz"); status != http.StatusOK {
		t.Errorf("not ready although it serves: %d, %s", status, body)
	}
	if status, body := get(t, "http://"+at+"/metrics"); status != http.StatusOK || !strings.Contains(body, "pointsman_store_reachable 1\n") {
		t.Errorf("metrics: %d\n%s", status, body)
	}
	if word, err := health(t, listen); err != nil || word != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("by gRPC it is %v, error %v", word, err)
	}
	stop()
	if code := <-ended; code != daemon.Done || !strings.Contains(logs.String(), "stopped") {
		t.Fatalf("exit %d\n%s", code, logs)
	}
}

// health asks as kubelets do: with no token and no certificate.
func health(t *testing.T, address string) (healthpb.HealthCheckResponse_ServingStatus, error) {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: pb.SyncService_ServiceDesc.ServiceName})
	return answer.GetStatus(), err
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
		"a check":          {[]string{"-data-dir", "d", "-check"}, daemon.Done, []string{"the flags are well"}},
		"etcd's files":     {[]string{"-etcd-endpoints", "https://etcd.example:2379", "-etcd-ca", "absent.pem"}, daemon.Usage, []string{"absent.pem"}},
		"half etcd's key":  {[]string{"-etcd-endpoints", "https://etcd.example:2379", "-etcd-cert", "absent.pem"}, daemon.Usage, []string{"go together"}},
		"metrics for all":  {[]string{"-data-dir", "d", "-metrics-listen", ":7401"}, daemon.Usage, []string{"-tls-cert and -tls-key"}},
		"unusable folder":  {[]string{"-listen", "127.0.0.1:0", "-data-dir", held, "-metrics-listen", ""}, daemon.Failed, []string{"data directory"}},
		"unusable address": {[]string{"-listen", "127.0.0.1:99999", "-data-dir", "d", "-metrics-listen", ""}, daemon.Failed, []string{"listen"}},
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
