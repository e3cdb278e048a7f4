//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/pointsman/pointsman/clientlib"
)

// The test binary plays other programs too: an application that uses the library, and a
// member of an etcd cluster.
const (
	roleVariable = "POINTSMAN_E2E_ROLE"
	roleCaller   = "caller"
	roleEtcd     = "etcd"
	roleLeaves   = "leaves"
)

func play(role string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	run := map[string]func(context.Context, []byte) error{roleCaller: runCaller, roleEtcd: runEtcd, roleLeaves: runLeaves}[role]
	if err := run(ctx, []byte(os.Getenv(configVariable))); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

const configVariable = "POINTSMAN_E2E_CONFIG"

func startRole(t *testing.T, role, name string, config any) *process {
	t.Helper()
	b, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, name, os.Args[0], []string{roleVariable + "=" + role, configVariable + "=" + string(b), "CLOUD_KEY=" + cloudKey})
}

// callerConfig is an application's.
type callerConfig struct {
	Name, Parent, StateDir, Node string
	Workloads, Hosts             []string
	Every                        time.Duration // between calls of each workload
}

// callerState is what a caller prints, again and again.
type callerState struct {
	Served, Shed, Failed int
	Generation, Revision uint64
	Endpoints            map[string]int    // attempts
	Errors               []string          // the first few
	Fleet                map[string]string // breakers, as the fleet says
}

// caller is the application: it calls each workload in turn through Transport.
type caller struct {
	client *clientlib.Client
	http   *http.Client

	mu    sync.Mutex
	state callerState
}

func runCaller(ctx context.Context, config []byte) error {
	var c callerConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	a := &caller{state: callerState{Endpoints: map[string]int{}}}
	var err error
	a.client, err = clientlib.Open(ctx, clientlib.Config{
		Parents: []string{c.Parent}, StateDir: c.StateDir, Name: c.Name, Node: c.Node, Observer: a,
		Credentials: map[string]clientlib.Credential{"cloud": {From: "env:CLOUD_KEY", Hosts: c.Hosts}},
	})
	if err != nil {
		return err
	}
	defer a.client.Close()
	a.http = &http.Client{Transport: a.client.Transport(clientlib.TransportConfig{})}
	var calls sync.WaitGroup
	defer calls.Wait()
	ticks, every := time.NewTicker(c.Every), time.NewTicker(20*time.Millisecond)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			for _, w := range c.Workloads {
				calls.Go(func() { a.call(ctx, w) })
			}
		case <-every.C:
			a.print()
		}
	}
}

func (a *caller) Attempt(i clientlib.AttemptInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Endpoints[i.Endpoint]++
}

func (*caller) Call(clientlib.CallInfo) {}

func (a *caller) Event(clientlib.Event) {}

func (a *caller) call(ctx context.Context, workload string) {
	body := fmt.Sprintf(`{"model":%q,"stream":true,"max_completion_tokens":4,"messages":[{"role":"user","content":"hello"}]}`, workload)
	status, answer, err := a.post(ctx, body)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case err == nil && status == http.StatusOK:
		a.state.Served++
	case err == nil && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable):
		a.state.Shed++
		a.trouble(fmt.Sprintf("%s: HTTP %d: %.300s", workload, status, answer))
	default:
		a.state.Failed++
		a.trouble(fmt.Sprintf("%s: HTTP %d, %v", workload, status, err))
	}
}

func (a *caller) trouble(text string) {
	if len(a.state.Errors) < 5 {
		a.state.Errors = append(a.state.Errors, time.Now().Format("15:04:05.000 ")+text)
	}
}

func (a *caller) post(ctx context.Context, body string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://any.invalid/v1/chat/completions", bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK && !bytes.Contains(answer, []byte("[DONE]")) {
		err = errors.New("a stream without its end")
	}
	return resp.StatusCode, answer, err
}

func (a *caller) print() {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := a.client.Version()
	a.state.Generation, a.state.Revision, a.state.Fleet = v.Generation, v.Revision, map[string]string{}
	for _, e := range a.client.Endpoints() {
		a.state.Fleet[e.Name] = e.Fleet
	}
	_ = json.NewEncoder(os.Stdout).Encode(a.state) // who reads it may have ended
}

// application is a caller process as a test sees it.
type application struct{ *process }

func startCaller(t *testing.T, c callerConfig) application {
	t.Helper()
	if c.Every == 0 {
		c.Every = 50 * time.Millisecond
	}
	return application{startRole(t, roleCaller, c.Name, c)}
}

// state is the latest that the caller printed.
func (a application) state() (s callerState) {
	lines := a.output()
	for i := len(lines) - 1; i >= 0; i-- {
		if json.Unmarshal([]byte(lines[i]), &s) == nil {
			return s
		}
	}
	return callerState{}
}

// etcdConfig is a member's.
type etcdConfig struct{ Name, Dir, Client, Peer, Cluster string }

func runEtcd(ctx context.Context, config []byte) error {
	var c etcdConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	e := embed.NewConfig()
	e.Dir, e.LogLevel = c.Dir, "error"
	e.ListenClientUrls, e.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: c.Client}}, []url.URL{{Scheme: "http", Host: c.Client}}
	e.ListenPeerUrls, e.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: c.Peer}}, []url.URL{{Scheme: "http", Host: c.Peer}}
	e.Name = cmp.Or(c.Name, e.Name)
	e.InitialCluster = cmp.Or(c.Cluster, e.InitialClusterFromName(e.Name))
	member, err := embed.StartEtcd(e)
	if err != nil {
		return err
	}
	defer member.Close()
	<-member.Server.ReadyNotify()
	fmt.Println("ready")
	<-ctx.Done()
	return nil
}
