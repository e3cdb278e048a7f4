package dev

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/agent"
	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/controlplane"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/fake"
)

//go:embed catalog.hcl
var exampleCatalog []byte

// ttftLimit is the example catalog's, which a test holds it to.
const ttftLimit = 800 * time.Millisecond

// cloudKey is what the hosted fake demands; callers map it to the catalog's name.
const cloudKey = "sk-dev-not-a-secret"

// late is how much a slow fault delays a first token unless it says otherwise: past
// ttft_limit at any speed.
const late = 1500 * time.Millisecond

// world is everything but the callers: endpoints, control plane and agent, on loopback.
type world struct {
	dir     string
	fakes   []*fake.Endpoint
	control *controlplane.Server
	agent   *agent.Agent
	conn    *grpc.ClientConn
}

// machines are the fakes, at a speed of 1.
func machines(speed float64) []fake.Config {
	own := func(name string, pace float64, capabilities ...string) fake.Config {
		return fake.Config{Name: name, Models: []string{"open-70b"}, Capabilities: capabilities, ContextWindow: 32768, MaxOutput: 4096,
			TTFT: fake.Latency{Base: 250 * time.Millisecond, PerInputToken: 100 * time.Microsecond},
			TPOT: 15 * time.Millisecond, Slots: 256, Speed: pace * speed}
	}
	cloud := own("cloud", 1, "stream", "tools", "json_schema")
	cloud.Models, cloud.Key, cloud.ContextWindow, cloud.MaxOutput = []string{"xl-2026-06-01"}, cloudKey, 131072, 8192
	cloud.TTFT.Base = 400 * time.Millisecond
	return []fake.Config{own("gpu-a", 1, "stream"), own("gpu-b", 1, "stream", "tools"), own("gpu-c", 0.7, "stream", "tools"), cloud}
}

// build starts the endpoints and listens everywhere; run serves.
func build(ctx context.Context, c Config, faults map[string][]fake.Fault) (w *world, err error) {
	w = &world{}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.dir, err = os.MkdirTemp("", "pointsman-dev-"); err != nil {
		return w, err
	}
	for _, m := range machines(c.Speed) {
		m.Faults = faults[m.Name]
		e, err := fake.New(m)
		if err != nil {
			return w, err
		}
		w.fakes = append(w.fakes, e)
	}
	log := c.Logger
	data := filepath.Join(w.dir, "etcd")
	token := c.Token
	if _, err := cert.OwnToken(token); token == "" || err != nil {
		token = filepath.Join(data, controlplane.TokenName) // with -token-file the command line finds it there too
	}
	if w.control, err = listen(ctx, controlplane.Config{
		Listen: c.Listen, DataDir: data, Version: "dev", Logger: log.Named("controlplane"), Peer: controlplane.Peer{LocalToken: token},
	}); err != nil {
		return w, err
	}
	parent := w.control.Addr().String()
	w.agent, err = agent.New(agent.Config{Parents: []string{parent}, Socket: w.socket(), Dir: filepath.Join(w.dir, "agent"),
		Node: "dev", Locality: "eu/west", Logger: log.Named("agent"), Trust: agent.Trust{TokenFile: token}})
	if err != nil {
		return w, err
	}
	options, err := cert.Dial(parent, cert.Files{}, token)
	if err != nil {
		return w, err
	}
	w.conn, err = grpc.NewClient(parent, options...)
	return w, err
}

// listen takes another port when the usual one is taken.
func listen(ctx context.Context, c controlplane.Config) (*controlplane.Server, error) {
	s, err := controlplane.New(ctx, c)
	var inUse *net.OpError
	if errors.As(err, &inUse) {
		c.Listen = "127.0.0.1:0"
		return controlplane.New(ctx, c)
	}
	return s, err
}

func (w *world) socket() string { return filepath.Join(w.dir, "run", "agent.sock") }

// host is an endpoint's host and port.
func (w *world) host(endpoint string) string {
	for _, e := range w.fakes {
		if e.Name() == endpoint {
			return e.Addr()
		}
	}
	return ""
}

// violations sums what the endpoints say they should never have been sent.
func (w *world) violations() (total int, reasons map[string]int) {
	reasons = map[string]int{}
	for _, e := range w.fakes {
		counts := e.Counts()
		total += counts.Violated
		for reason, n := range counts.Violations {
			reasons[e.Name()+": "+reason] += n
		}
	}
	return total, reasons
}

// sources are the example catalog with the addresses of its endpoints.
func sources(urls map[string]string) *pb.Sources {
	var b strings.Builder
	b.WriteString("locals {\n  urls = {\n")
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		fmt.Fprintf(&b, "    %-5s = %q\n", name, urls[name])
	}
	b.WriteString("  }\n}\n")
	return &pb.Sources{Files: []*pb.SourceFile{
		{Name: "addresses.hcl", Content: []byte(b.String())},
		{Name: "catalog.hcl", Content: exampleCatalog},
	}}
}

// publish stores the example catalog as an operator would.
func (w *world) publish(ctx context.Context) error {
	urls := map[string]string{}
	for _, e := range w.fakes {
		urls[e.Name()] = e.URL()
	}
	_, err := pb.NewCatalogServiceClient(w.conn).Publish(ctx, &pb.PublishRequest{
		Sources: sources(urls),
		AnyBase: true, Message: "the example of pointsman dev", Author: "dev",
	}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("publish the example catalog: %w", err)
	}
	return nil
}

func (w *world) close() {
	if w.conn != nil {
		w.conn.Close()
	}
	for _, e := range w.fakes {
		e.Close()
	}
	if w.dir != "" {
		_ = os.RemoveAll(w.dir)
	}
}

// parseFaults reads the -fault flags by endpoint, in order of their start.
func parseFaults(texts []string) (map[string][]fake.Fault, error) {
	out := map[string][]fake.Fault{}
	var errs []error
	for _, text := range texts {
		name, f, err := fake.ParseFault(text)
		if err == nil && !slices.ContainsFunc(machines(1), func(m fake.Config) bool { return m.Name == name }) {
			err = fmt.Errorf("fault %q: no such endpoint; there are gpu-a, gpu-b, gpu-c and cloud", text)
		}
		if f.Kind == fake.Slow && f.Factor == 0 && f.Delay == 0 {
			f.Delay = late
		}
		errs = append(errs, err)
		out[name] = append(out[name], f)
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		slices.SortFunc(out[name], func(a, b fake.Fault) int { return cmp.Compare(a.From, b.From) })
	}
	return out, errors.Join(errs...)
}
