package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pointsman/pointsman/clientlib/uplink"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// A whole control plane under load.
const (
	reporters  = 100
	perSecond  = 10_000 // requests, of all of them
	observed   = 15 * time.Second
	settling   = 6 * time.Second // an election, a publish, the first states
	proposals  = "etcd_server_proposals_committed_total"
	planeNodes = 20
)

// etcd is how often a control plane writes to it: what went through raft, of whatever kind.
type etcd struct {
	Idle float64 `json:"idle"`
	Busy float64 `json:"busy"`
}

const planeCatalog = `
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
  base_url = "http://127.0.0.1:9/v1"
}
`

const planeEndpoint = `
endpoint "e%[1]d" {
  provider   = provider.p
  model      = model.m
  wire_model = "e%[1]d"
  apis       = ["openai.chat"]
}
`

const planeWorkload = `
workload "chat" {
  apis = ["openai.chat"]
  contract { requires = ["chat"] }
  tier "all" { endpoints = [endpoint.e0, endpoint.e1, endpoint.e2, endpoint.e3, endpoint.e4, endpoint.e5, endpoint.e6, endpoint.e7] }
  balance "p2c" {}
}
tenant "default" { workloads = ["chat"] }
`

// writes runs a control plane with an embedded etcd: first nothing happens, then reporters
// tell of requests that end, those at one endpoint badly.
func (b *bench) writes() (err error) {
	if b.skip {
		return nil
	}
	b.report.Writes = &etcd{}
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	socket := filepath.Join(dir, "cp.sock")
	plane, err := controlplane.New(context.Background(), controlplane.Config{Socket: socket, DataDir: filepath.Join(dir, "etcd")})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- plane.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-ended)
	}()
	if err := publish(ctx, "unix://"+socket); err != nil {
		return err
	}
	time.Sleep(settling)
	if b.report.Writes.Idle, err = writesPerSecond(); err != nil {
		return err
	}
	return b.busy(ctx, "unix://"+socket)
}

// busy counts while reporters report.
func (b *bench) busy(ctx context.Context, address string) (err error) {
	load, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for i := range reporters {
		r, err := newReporter(i, address)
		if err != nil {
			return err
		}
		wg.Go(func() { _ = r.link.Run(load) }) // it ends with load
		wg.Go(func() { r.run(load) })
	}
	time.Sleep(settling)
	if b.report.Writes.Busy, err = writesPerSecond(); err != nil {
		return err
	}
	return b.heard(ctx, address)
}

// heard makes sure that the reports were judged: else the figure says nothing.
func (b *bench) heard(ctx context.Context, address string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	leaves, err := pb.NewFleetServiceClient(conn).ListClients(ctx, &pb.ListClientsRequest{})
	breakers, err2 := pb.NewFleetServiceClient(conn).ListBreakers(ctx, &pb.ListBreakersRequest{})
	if err := errors.Join(err, err2, conn.Close()); err != nil {
		return err
	}
	total, err := counter(proposals)
	b.note("writes: %d leaves, %d breakers, %.0f proposals in all", len(leaves.GetClients()), len(breakers.GetBreakers()), total)
	if len(leaves.GetClients()) < reporters || len(breakers.GetBreakers()) == 0 || total == 0 {
		return errors.Join(err, errors.New("the control plane has not judged what was reported"))
	}
	return err
}

// writesPerSecond counts for a while.
func writesPerSecond() (float64, error) {
	before, err := counter(proposals)
	if err != nil {
		return 0, err
	}
	time.Sleep(observed)
	after, err := counter(proposals)
	return (after - before) / observed.Seconds(), err
}

// counter reads one of this process's own.
func counter(name string) (float64, error) {
	all, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		return 0, err
	}
	for _, f := range all {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetGauge().GetValue() + m.GetCounter().GetValue(), nil
		}
	}
	return 0, fmt.Errorf("etcd counts no %s", name)
}

func publish(ctx context.Context, address string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	text := planeCatalog
	for i := range 8 {
		text += fmt.Sprintf(planeEndpoint, i)
	}
	text += planeWorkload
	for range 100 { // until it knows its etcd
		_, err = pb.NewCatalogServiceClient(conn).Publish(ctx, &pb.PublishRequest{
			Sources: &pb.Sources{Files: []*pb.SourceFile{{Name: "fleet.hcl", Content: []byte(text)}}}, AnyBase: true, Author: "bench",
		}, grpc.WaitForReady(true))
		if err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(err, conn.Close())
}

// reporter is a leaf that reports each second.
type reporter struct {
	link  *uplink.Link
	leaf  *pb.LeafReport
	start time.Time

	mu        sync.Mutex
	endpoints []*pb.Row // what to report of
}

func newReporter(i int, address string) (r *reporter, err error) {
	r = &reporter{start: time.Now(), leaf: &pb.LeafReport{
		Leaf: fmt.Sprintf("leaf-%d", i), Node: fmt.Sprintf("node-%d", i%planeNodes), Incarnation: 1, IntervalUs: 1e6,
	}}
	r.link, err = uplink.New(uplink.Config{
		Parents: []string{address}, Now: r.now,
		Hello: &pb.Hello{Library: "bench", Leaf: r.leaf.Leaf, Node: r.leaf.Node, Incarnation: 1, Subscribe: &pb.Subscribe{View: 1, All: true}},
	}, r)
	return r, err
}

func (r *reporter) now() int64 { return time.Since(r.start).Microseconds() + 1 }

// Apply learns the endpoints with their identities.
func (r *reporter) Apply(_ uint32, s *wire.State, cold bool) ([]*pb.Unusable, error) {
	if s.Track() != pb.Track_TRACK_CATALOG {
		return nil, nil
	}
	c, unusable, err := wire.Catalog(s, cold)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endpoints = nil
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		r.endpoints = append(r.endpoints, &pb.Row{Endpoint: e.Name, Identity: e.Identity, Class: pb.Class_CLASS_ANY, Workload: "chat"})
	}
	return unusable, nil
}

// Grant takes nothing: it sends no requests.
func (r *reporter) Grant(int64, *pb.Grant) {}

// Ask knows nothing.
func (r *reporter) Ask(_ *pb.Question, answer func(*pb.Answer)) {
	answer(&pb.Answer{Error: "a bench's leaf decides nothing"})
}

// run reports until ctx ends: what ended in a second.
func (r *reporter) run(ctx context.Context) {
	time.Sleep(rand.N(time.Second))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := uint64(1); ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.link.Report(r.now(), r.interval(n))
		}
	}
}

func (r *reporter) interval(n uint64) *pb.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	leaf := &pb.LeafReport{Leaf: r.leaf.Leaf, Node: r.leaf.Node, Incarnation: 1, Sequence: n, IntervalUs: 1e6}
	each := uint64(perSecond / reporters / max(len(r.endpoints), 1))
	for i, e := range r.endpoints {
		row := &pb.Row{Endpoint: e.Endpoint, Identity: e.Identity, Class: e.Class, Workload: e.Workload, Admitted: each, Finished: each, InFlight: 1}
		if i == 0 { // its breaker opens, and what follows are events
			row.Admitted, row.Finished, row.AdmitFailed = 0, 0, each
			leaf.Votes = append(leaf.Votes, &pb.Vote{Endpoint: e.Endpoint, Identity: e.Identity, Class: e.Class, Phase: pb.Phase_PHASE_ADMIT})
		}
		leaf.Rows = append(leaf.Rows, row)
	}
	return &pb.Report{Leaves: []*pb.LeafReport{leaf}}
}
