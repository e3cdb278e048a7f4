// Package intruders tries to get in, or further in than one may, and to be heard where one
// should not. Each test is a way that must stay closed; it shows beside it that the open way is.
package intruders

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/agent"
	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/controlplane"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/ca"
)

const patience = 30 * time.Second // far above what anything here takes

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// etcd's own, one for the process.
		goleak.IgnoreTopFunction("go.etcd.io/etcd/client/pkg/v3/logutil.(*MergeLogger).outputLoop"),
	)
}

// catalog has two tenants, each with a workload and an endpoint of its own.
const catalog = `
model "m" {
  artifact          = "m@1"
  capabilities      = ["chat"]
  context_window    = 32768
  max_output_tokens = 4096
  price {
    input  = "1.00"
    output = "2.00"
  }
}
provider "p" {
  dialect  = "vllm"
  base_url = "https://p.example/v1"
}
endpoint "a" {
  provider   = provider.p
  model      = model.m
  wire_model = "a"
  apis       = ["openai.chat"]
  credential = "key"
  breaker { consecutive = 3 }
}
endpoint "b" {
  provider   = provider.p
  model      = model.m
  wire_model = "b"
  apis       = ["openai.chat"]
  breaker { consecutive = 3 }
}
workload "chat" {
  apis = ["openai.chat"]
  contract { requires = ["chat"] }
  tier "all" { endpoints = [endpoint.a] }
  balance "p2c" {}
}
workload "search" {
  apis = ["openai.chat"]
  contract { requires = ["chat"] }
  tier "all" { endpoints = [endpoint.b] }
  balance "p2c" {}
}
tenant "acme" {
  identities = ["cn/acme", "cn/acme-2"]
  workloads  = ["chat"]
}
tenant "beta" {
  identities = ["cn/beta"]
  workloads  = ["search"]
}
`

// world is a control plane that listens by TLS, with a catalog, and what all in it logged.
type world struct {
	authority *ca.CA
	dir       string // of the store
	log       *logs
	server    *controlplane.Server
	admin     *grpc.ClientConn // this host's own user
}

type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logs) named(name string) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: name, Level: hclog.Trace, Output: l})
}

// newWorld makes one, beside those of other tests: one of them waits for 30 s.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{authority: ca.New(t), dir: t.TempDir(), log: &logs{}}
	var err error
	w.server, err = controlplane.New(t.Context(), controlplane.Config{
		Listen: "127.0.0.1:0", DataDir: w.dir, Logger: w.log.named("controlplane"),
		Peer: controlplane.Peer{TLS: w.authority.Issue(t, "replica", ca.Leaf{Name: "replica"})},
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, w.server.Run)
	w.admin = w.dial(t, cert.Files{CA: w.authority.Path()}, w.ownToken())
	if _, err := pb.NewCatalogServiceClient(w.admin).Publish(t.Context(), &pb.PublishRequest{
		Sources: &pb.Sources{Files: []*pb.SourceFile{{Name: "c.hcl", Content: []byte(catalog)}}}, AnyBase: true,
	}, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the catalog is served", func() bool {
		s, err := pb.NewFleetServiceClient(w.admin).Status(t.Context(), &pb.StatusRequest{})
		return err == nil && s.GetHead().GetGeneration() > 0 && s.GetLeader() != nil
	})
	return w
}

// run runs a part until the test ends.
func run(t *testing.T, part func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- part(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (w *world) ownToken() string { return filepath.Join(w.dir, controlplane.TokenName) }

func (w *world) address() string { return w.server.Addr().String() }

func (w *world) dial(t *testing.T, f cert.Files, token string) *grpc.ClientConn {
	t.Helper()
	return dial(t, w.address(), f, token)
}

func dial(t *testing.T, target string, f cert.Files, token string) *grpc.ClientConn {
	t.Helper()
	options, err := cert.Dial(target, f, token)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// as connects with a certificate.
func (w *world) as(t *testing.T, name string) *grpc.ClientConn {
	t.Helper()
	return w.dial(t, w.authority.Issue(t, name, ca.Leaf{Name: name}), "")
}

func (w *world) operate() pb.OperatorServiceClient { return pb.NewOperatorServiceClient(w.admin) }

// grant gives a role, and waits until it is known.
func (w *world) grant(t *testing.T, identity, role, node string) {
	t.Helper()
	if _, err := w.operate().GrantRole(t.Context(), &pb.GrantRoleRequest{Identity: identity, Role: role, Node: node}); err != nil {
		t.Fatal(err)
	}
}

// token makes one, in a file.
func (w *world) token(t *testing.T, name, role string, life time.Duration) (path string, made *pb.CreateTokenResponse) {
	t.Helper()
	made, err := w.operate().CreateToken(t.Context(), &pb.CreateTokenRequest{Name: name, Role: role, DurationUs: life.Microseconds()})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), name+".token")
	if err := os.WriteFile(path, []byte(made.GetToken()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, made
}

// withToken connects by TLS with a token.
func (w *world) withToken(t *testing.T, path string) *grpc.ClientConn {
	t.Helper()
	return w.dial(t, cert.Files{CA: w.authority.Path()}, path)
}

// becomes waits until a call is answered by a code: rights take a moment to be known.
func becomes(t *testing.T, code codes.Code, call func() error) {
	t.Helper()
	var last error
	eventually(t, fmt.Sprintf("the answer is %v", code), func() bool {
		last = call()
		return status.Code(last) == code
	})
}

// eventually polls what no message announces.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(patience); !is(); {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("it did not come to that: %s", what)
		}
	}
}

// child is a stream that a test speaks by itself. It acks what comes.
type child struct {
	t      *testing.T
	stream pb.SyncService_SyncClient
	in     chan *pb.SyncResponse
	end    chan error

	mu   sync.Mutex
	sent uint64
}

func join(t *testing.T, conn *grpc.ClientConn, hello *pb.Hello) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	stream, err := pb.NewSyncServiceClient(conn).Sync(ctx, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, stream: stream, in: make(chan *pb.SyncResponse, 1000), end: make(chan error, 1)}
	var reading sync.WaitGroup
	t.Cleanup(func() { cancel(); reading.Wait() })
	c.send(&pb.SyncRequest{Message: &pb.SyncRequest_Hello{Hello: hello}})
	reading.Go(c.read)
	return c
}

func (c *child) read() {
	for {
		m, err := c.stream.Recv()
		if err != nil {
			close(c.in)
			c.end <- err
			return
		}
		if u := m.GetUpdate(); u != nil {
			c.send(&pb.SyncRequest{Message: &pb.SyncRequest_Ack{Ack: &pb.Ack{Held: []*pb.Held{{Track: u.GetTrack(), View: u.GetView(), Version: u.GetVersion(), Digest: u.GetDigest()}}}}})
		}
		c.in <- m
	}
}

// send sends, as the next message. What the parent does not take shows at the end.
func (c *child) send(m *pb.SyncRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	m.Sequence = c.sent
	_ = c.stream.Send(m)
}

func (c *child) report(r *pb.Report) {
	c.send(&pb.SyncRequest{Message: &pb.SyncRequest_Report{Report: r}})
}

// ended is the error that the stream ends with.
func (c *child) ended() error {
	c.t.Helper()
	for range c.in {
	}
	return <-c.end
}

// firstError is why a stream ends before anything comes down; nil: something comes.
func (c *child) firstError() error {
	if _, ok := <-c.in; ok {
		return nil
	}
	return <-c.end
}

// view is the next state of the catalog that comes: its resources, and why it is empty.
func (c *child) view() (names []string, why pb.EmptyReason) {
	c.t.Helper()
	for m := range c.in {
		u := m.GetUpdate()
		if u.GetTrack() != pb.Track_TRACK_CATALOG {
			continue
		}
		for _, r := range u.GetUpserts() {
			names = append(names, strings.ToLower(strings.TrimPrefix(r.GetKind().String(), "KIND_"))+" "+r.GetName())
		}
		return names, u.GetEmpty()
	}
	c.t.Fatal(<-c.end)
	return nil, 0
}

// leafHello is what a library says.
func leafHello(leaf string) *pb.Hello {
	return &pb.Hello{Library: "go", Leaf: leaf, Node: "node-" + leaf, Incarnation: 1, Subscribe: &pb.Subscribe{View: 1, All: true}}
}

// startAgent runs an agent with a certificate, that serves by TLS and on a socket.
func (w *world) startAgent(t *testing.T, name, node string) *agent.Agent {
	t.Helper()
	return w.startAgentIn(t, name, node, t.TempDir())
}

func (w *world) startAgentIn(t *testing.T, name, node, dir string) *agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{
		Parents: []string{w.address()}, Listen: "127.0.0.1:0", Dir: dir, Node: node, Logger: w.log.named("agent"),
		Trust: agent.Trust{TLS: w.authority.Issue(t, name, ca.Leaf{Name: name})},
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, a.Run)
	return a
}
