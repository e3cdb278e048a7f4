package controlplane

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/clientlib/uplink"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const patience = 30 * time.Second // far above what anything here takes

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// etcd's own, one for the process.
		goleak.IgnoreTopFunction("go.etcd.io/etcd/client/pkg/v3/logutil.(*MergeLogger).outputLoop"),
	)
}

// replica is a running server and a connection to it.
type replica struct {
	*Server
	catalog pb.CatalogServiceClient
	fleet   pb.FleetServiceClient
	stop    func() error
}

func start(t *testing.T, c Config) *replica {
	t.Helper()
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.DataDir == "" && c.LocalToken == "" {
		c.LocalToken = filepath.Join(t.TempDir(), "token")
	}
	s, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	conn := dialTo(t, s)
	r := &replica{Server: s, catalog: pb.NewCatalogServiceClient(conn), fleet: pb.NewFleetServiceClient(conn)}
	var stopped bool
	r.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		conn.Close()
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// dialTo connects as this host's own user.
func dialTo(t *testing.T, s *Server) *grpc.ClientConn {
	t.Helper()
	options, err := cert.Dial(s.Addr().String(), cert.Files{}, s.config.tokenFile())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(s.Addr().String(), options...)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func (r *replica) publish(t *testing.T, base uint64, text string) *pb.Head {
	t.Helper()
	p, err := r.catalog.Publish(t.Context(), &pb.PublishRequest{Sources: catalogOf(text), Base: base, Author: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	return p.GetHead()
}

// catalogOf is a catalog with two workloads, one of them with a region of its own.
func catalogOf(region string) *pb.Sources {
	const text = `
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
  region     = "REGION"
  breaker { consecutive = 3 }
}
endpoint "b" {
  provider   = provider.p
  model      = model.m
  wire_model = "b"
  apis       = ["openai.chat"]
}
workload "chat" {
  apis = ["openai.chat"]
  contract { requires = ["chat"] }
  tier "all" { endpoints = [endpoint.a, endpoint.b] }
  balance "p2c" {}
}
workload "search" {
  apis = ["openai.chat"]
  contract { requires = ["chat"] }
  tier "all" { endpoints = [endpoint.b] }
  balance "p2c" {}
}
tenant "default" { workloads = ["chat", "search"] }
`
	return &pb.Sources{Files: []*pb.SourceFile{{Name: "c.hcl", Content: []byte(strings.ReplaceAll(text, "REGION", region))}}}
}

// leaf is a library's uplink that keeps what came down.
type leaf struct {
	link   *uplink.Link
	states chan *wire.State
	grants chan *pb.Grant
	events chan uplink.Event
	now    func() int64
}

func (l *leaf) Apply(_ uint32, s *wire.State, _ bool) ([]*pb.Unusable, error) {
	l.states <- s
	return nil, nil
}

func (l *leaf) Grant(_ int64, g *pb.Grant) { l.grants <- g }

func (l *leaf) Ask(_ *pb.Question, answer func(*pb.Answer)) {
	answer(&pb.Answer{Error: "not asked in this test"})
}

func connect(t *testing.T, r *replica, name string, workloads ...string) *leaf {
	t.Helper()
	begun := time.Now()
	l := &leaf{
		states: make(chan *wire.State, 1000), grants: make(chan *pb.Grant, 1000), events: make(chan uplink.Event, 1000),
		now: func() int64 { return time.Since(begun).Microseconds() + 1 },
	}
	var err error
	l.link, err = uplink.New(uplink.Config{
		Parents: []string{r.Addr().String()}, Token: r.config.tokenFile(), Now: l.now, Observe: func(e uplink.Event) { l.events <- e },
		Hello: &pb.Hello{Library: "go", Leaf: name, Node: "node-" + name, Incarnation: 1, Subscribe: &pb.Subscribe{
			View: 1, All: len(workloads) == 0, Workloads: workloads,
		}},
	}, l)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.link.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

// until waits for a state.
func (l *leaf) until(t *testing.T, track pb.Track, is func(*wire.State) bool) *wire.State {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case s := <-l.states:
			if s.Track() == track && is(s) {
				return s
			}
		case <-timeout:
			t.Fatal("no such state came")
		}
	}
}

func (l *leaf) untilGeneration(t *testing.T, n uint64) *wire.State {
	t.Helper()
	return l.until(t, pb.Track_TRACK_CATALOG, func(s *wire.State) bool { return s.Version().GetGeneration() >= n })
}

// regionOf reads one endpoint's region out of a state.
func regionOf(t *testing.T, s *wire.State, endpoint string) string {
	t.Helper()
	c, _, err := wire.Catalog(s, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Endpoints {
		if e.Name == endpoint {
			return e.Region
		}
	}
	return "absent"
}

func names(s *wire.State) string {
	var out []string
	for k := range s.All() {
		out = append(out, k.String())
	}
	return strings.Join(out, ", ")
}

// serves says whether a generation is served.
func (r *replica) serves(t *testing.T, n uint64) (*testing.T, func() bool) {
	return t, func() bool {
		s, err := r.fleet.Status(t.Context(), &pb.StatusRequest{})
		return err == nil && s.GetHead().GetGeneration() == n
	}
}

func syncTo(t *testing.T, r *replica) (pb.SyncService_SyncClient, error) {
	t.Helper()
	conn := dialTo(t, r.Server)
	t.Cleanup(func() { conn.Close() })
	stream, err := pb.NewSyncServiceClient(conn).Sync(t.Context())
	if err != nil {
		return nil, err
	}
	hello := &pb.SyncRequest{Sequence: 1, Message: &pb.SyncRequest_Hello{Hello: &pb.Hello{Leaf: "x"}}}
	return stream, stream.Send(hello)
}

// eventually polls what no message announces.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(patience); !is(); {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatal("it did not come to that")
		}
	}
}

// etcd is a member of its own, reached by a unix socket, that can be stopped.
type etcd struct {
	dir    string
	member *embed.Etcd
}

func startEtcd(t *testing.T) *etcd {
	t.Helper()
	dir, err := os.MkdirTemp("", "pm")
	if err != nil {
		t.Fatal(err)
	}
	e := &etcd{dir: dir}
	e.start(t)
	t.Cleanup(func() {
		e.stop()
		os.RemoveAll(dir)
	})
	return e
}

func (e *etcd) address() string { return "unix://" + filepath.Join(e.dir, "s") }

func (e *etcd) start(t *testing.T) {
	t.Helper()
	u, err := url.Parse(e.address())
	if err != nil {
		t.Fatal(err)
	}
	c := embed.NewConfig()
	c.Dir, c.TickMs, c.ElectionMs = filepath.Join(e.dir, "data"), 10, 100
	c.ListenPeerUrls, c.ListenClientUrls, c.AdvertiseClientUrls = nil, []url.URL{*u}, []url.URL{*u}
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	if e.member, err = embed.StartEtcd(c); err != nil {
		t.Fatal(err)
	}
	<-e.member.Server.ReadyNotify()
}

func (e *etcd) stop() {
	if e.member != nil {
		e.member.Close()
	}
	e.member = nil
}
