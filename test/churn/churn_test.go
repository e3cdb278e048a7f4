// Package churn lets a control plane live through comings and goings, and holds it to leave
// nothing behind: memory, goroutines and descriptors.
package churn

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pointsman/pointsman/agent"
	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/controlplane"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

var long = flag.Bool("long", false, "go through all cycles")

const (
	cycles   = 12
	early    = 4 // what is there by then has grown as far as it should
	most     = 90 * time.Second
	each     = 7 * time.Second // a cycle; what is kept for half a minute has its full size after four
	agents   = 3
	clients  = 57 // of a cycle, a third of them behind agents
	stuck    = 3  // of 60: they read nothing
	calls    = 20 // of each client
	growth   = 1.05
	within   = 5 * time.Second
	patience = 30 * time.Second
)

// count is what is there when all have left.
type count struct {
	heap        uint64
	goroutines  int
	descriptors int
}

func TestComingsAndGoingsLeaveNothing(t *testing.T) {
	if !*long {
		t.Skip("without -long")
	}
	p := begin(t)
	began := time.Now()
	var at [cycles + 1]count
	for n := 1; n <= cycles; n++ {
		time.Sleep(time.Until(began.Add(time.Duration(n-1) * each)))
		p.cycle(n)
		at[n] = p.rest(at[early])
		t.Logf("cycle %2d after %4.1f s: %.2f MiB, %d goroutines, %d descriptors", n, time.Since(began).Seconds(),
			float64(at[n].heap)/(1<<20), at[n].goroutines, at[n].descriptors)
	}
	then, now := at[early], at[cycles]
	if float64(now.heap) > growth*float64(then.heap) {
		t.Errorf("the heap grew from %d to %d bytes", then.heap, now.heap)
	}
	if now.goroutines != then.goroutines || now.descriptors != then.descriptors {
		t.Errorf("from %d goroutines and %d descriptors to %d and %d", then.goroutines, then.descriptors, now.goroutines, now.descriptors)
	}
	if took := time.Since(began); took > most {
		t.Errorf("it took %v, at most %v", took, most)
	}
}

// plane is the control plane under test.
type plane struct {
	t       *testing.T
	dir     string
	address string
	conn    *grpc.ClientConn
}

func begin(t *testing.T) *plane {
	dir, err := os.MkdirTemp("", "churn") // t's own is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &plane{t: t, dir: dir, address: "unix://" + filepath.Join(dir, "cp.sock")}
	server, err := controlplane.New(t.Context(), controlplane.Config{Socket: filepath.Join(dir, "cp.sock"), DataDir: filepath.Join(dir, "etcd")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	if p.conn, err = grpc.NewClient(p.address, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(p.conn.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	return p
}

// cycle has all come, work and go.
func (p *plane) cycle(n int) {
	p.publish(n)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	parents := []string{p.address}
	for i := range agents {
		parents = append(parents, p.agent(ctx, &wg, fmt.Sprintf("node-%d-%d", n, i)))
	}
	p.stick(ctx, &wg)
	var crowd sync.WaitGroup
	for i := range clients {
		crowd.Go(func() { p.client(n, i, parents[max(0, i%(3*agents)-2*agents+1)]) })
	}
	crowd.Wait()
	p.publish(0)
	cancel()
	wg.Wait()
}

// agent runs one, and says where it serves.
func (p *plane) agent(ctx context.Context, wg *sync.WaitGroup, node string) string {
	socket := filepath.Join(p.dir, node+".sock")
	a, err := agent.New(agent.Config{Parents: []string{p.address}, Socket: socket, Dir: filepath.Join(p.dir, node), Node: node})
	if err != nil {
		p.t.Fatal(err)
	}
	wg.Go(func() {
		if err := a.Run(ctx); err != nil {
			p.t.Error(err)
		}
	})
	return "unix://" + socket
}

// client lives for a few calls, one endpoint of which fails.
func (p *plane) client(cycle, i int, parent string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	work := []string{"chat", "search"}[i%2]
	c, err := clientlib.Open(ctx, clientlib.Config{Parents: []string{parent}, Workloads: []string{work}, Name: fmt.Sprintf("client-%d-%d", cycle, i)})
	if err != nil {
		p.t.Error(err)
		return
	}
	for k := range calls {
		_, err = clientlib.Do(ctx, c.Workload(work), clientlib.Request{Input: 10, MaxOutput: 10}, func(_ context.Context, a clientlib.Attempt) (int, error) {
			if k%4 == 0 {
				return 0, errors.New("it fails now and then")
			}
			return 1, nil
		})
		_ = err // a call may fail: that is what it is for
		time.Sleep(50 * time.Millisecond)
	}
	if err := c.Close(); err != nil {
		p.t.Error(err)
	}
}

// stick opens streams that read nothing.
func (p *plane) stick(ctx context.Context, wg *sync.WaitGroup) {
	for i := range stuck {
		conn, err := grpc.NewClient(p.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			p.t.Fatal(err)
		}
		s, err := pb.NewSyncServiceClient(conn).Sync(ctx)
		if err == nil {
			err = s.Send(&pb.SyncRequest{Sequence: 1, Message: &pb.SyncRequest_Hello{Hello: &pb.Hello{
				Library: "stuck", Leaf: fmt.Sprint("stuck-", i), Node: "n", Incarnation: 1, Subscribe: &pb.Subscribe{View: 1, All: true},
			}}})
		}
		if err != nil {
			p.t.Fatal(err)
		}
		wg.Go(func() {
			<-ctx.Done()
			_ = conn.Close()
		})
	}
}

// rest waits until all have left, and counts what is there; as few as before, if it comes to that.
func (p *plane) rest(before count) (c count) {
	for end := time.Now().Add(within); ; time.Sleep(200 * time.Millisecond) {
		was := c
		c = p.count()
		steady := c.goroutines == was.goroutines && c.descriptors == was.descriptors
		back := before.heap == 0 || c.goroutines <= before.goroutines && c.descriptors <= before.descriptors
		if steady && back && p.leaves() == 0 || time.Now().After(end) {
			return c
		}
	}
}

func (p *plane) count() count {
	runtime.GC()
	runtime.GC() // what pools kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		p.t.Skip("no /proc here")
	}
	return count{m.HeapAlloc, runtime.NumGoroutine(), len(fds)}
}

// leaves are those that the control plane knows.
func (p *plane) leaves() int {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	all, err := pb.NewFleetServiceClient(p.conn).ListClients(ctx, &pb.ListClientsRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	n := 0
	for _, c := range all.Clients {
		if !c.GetState().GetGone() {
			n++
		}
	}
	return n
}

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
  base_url = "http://127.0.0.1:9/v1"
}
tenant "default" { workloads = ["chat", "search"] }
`

const endpoint = `
endpoint "%[1]s" {
  provider   = provider.p
  model      = model.m
  wire_model = "%[1]s"
  apis       = ["openai.chat"]
  breaker { consecutive = 3 }
}
`

const workload = `
workload "%s" {
  apis = ["openai.chat"]
  contract { requires = ["chat"] }
  tier "all" { endpoints = [endpoint.stays, endpoint.c%d-a, endpoint.c%d-b] }
  balance "p2c" {}
}
`

// publish has a cycle's endpoints come, and those of the one before go.
func (p *plane) publish(cycle int) {
	text := catalog + fmt.Sprintf(endpoint, "stays")
	for _, name := range []string{"a", "b"} {
		text += fmt.Sprintf(endpoint, fmt.Sprintf("c%d-%s", cycle, name))
	}
	for _, name := range []string{"chat", "search"} {
		text += fmt.Sprintf(workload, name, cycle, cycle)
	}
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		_, err = pb.NewCatalogServiceClient(p.conn).Publish(ctx, &pb.PublishRequest{
			Sources: &pb.Sources{Files: []*pb.SourceFile{{Name: "c.hcl", Content: []byte(text)}}}, AnyBase: true, Author: "churn",
		})
		cancel()
		if err == nil {
			return
		}
	}
	p.t.Fatal(err)
}
