//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/fake"
)

const cloudKey = "sk-e2e-not-a-secret"

// scene is a control plane with agents and endpoints, each process of its own but the
// endpoints, which the test looks into.
type scene struct {
	t         *testing.T
	dir       string
	addr      string // of the control plane
	store     []string
	control   *process
	agents    map[string]*process
	endpoints map[string]*fake.Endpoint
}

// newScene starts endpoints a, b and cloud, and a control plane on an embedded member or,
// when given, on an etcd cluster.
func newScene(t *testing.T, etcd ...string) *scene {
	t.Helper()
	s := &scene{t: t, dir: t.TempDir(), addr: freePort(t), agents: map[string]*process{}, endpoints: map[string]*fake.Endpoint{}}
	s.store = []string{"-data-dir", filepath.Join(s.dir, "etcd")}
	if len(etcd) > 0 {
		s.store = []string{"-etcd-endpoints", strings.Join(etcd, ",")}
	}
	for _, c := range []fake.Config{{Name: "a"}, {Name: "b"}, {Name: "cloud", Key: cloudKey}} {
		c.Models = []string{"m-" + c.Name}
		e, err := fake.New(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		s.endpoints[c.Name] = e
	}
	s.startControl()
	return s
}

func (s *scene) startControl() {
	s.t.Helper()
	s.control = start(s.t, "controlplane", filepath.Join(binaries, "pointsman-controlplane"), nil,
		append([]string{"-listen", s.addr, "-local-token-file", hostToken(), "-log-json", "-log-level", "debug"}, s.store...)...)
	eventually(s.t, 15*time.Second, "the control plane answers", func() bool {
		code, _, _ := cli(s.t, s.addr, "status")
		return code == 0
	})
}

// admin calls the control plane as the command line does.
func (s *scene) admin() pb.CatalogServiceClient {
	s.t.Helper()
	return pb.NewCatalogServiceClient(asHost(s.t, s.addr))
}

// startAgent starts the agent of a node; its state outlives it.
func (s *scene) startAgent(node string) {
	s.t.Helper()
	s.agents[node] = start(s.t, "agent "+node, filepath.Join(binaries, "pointsman-agent"), nil,
		"-parent", s.addr, "-token-file", hostToken(), "-socket", s.socket(node), "-state-dir", filepath.Join(s.dir, node, "state"), "-node", node, "-log-json", "-log-level", "debug")
	eventually(s.t, 10*time.Second, "agent "+node+" listens", func() bool {
		_, err := os.Stat(s.socket(node))
		return err == nil
	})
}

func (s *scene) socket(node string) string { return filepath.Join(s.dir, node, "run", "agent.sock") }

// caller starts an application on a node.
func (s *scene) caller(name, node string, workloads ...string) application {
	s.t.Helper()
	var hosts []string
	for _, e := range s.endpoints {
		hosts = append(hosts, e.Addr())
	}
	return startCaller(s.t, callerConfig{Name: name, Hosts: hosts, Parent: "unix://" + s.socket(node), Node: node,
		StateDir: filepath.Join(s.dir, name), Workloads: workloads})
}

// catalog writes a folder with the scene's catalog, the given text added, and names it.
func (s *scene) catalog(name, more string) string {
	s.t.Helper()
	dir := filepath.Join(s.dir, "catalogs", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range []string{"a", "b", "cloud"} {
		fmt.Fprintf(&b, providerAndEndpoint, e, s.endpoints[e].URL())
	}
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(common+b.String()+more), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return dir
}

// serving makes a catalog whose workloads chat and other go to the named endpoints.
func (s *scene) serving(name, chat, other string) string {
	return s.catalog(name, workload("chat", chat)+workload("other", other))
}

func workload(name string, endpoints ...string) string {
	var refs []string
	for _, e := range strings.Fields(strings.Join(endpoints, " ")) {
		refs = append(refs, "endpoint."+e)
	}
	return fmt.Sprintf("workload %q {\n  use  = [policy.quick]\n  apis = [\"openai.chat\"]\n  tier \"all\" { endpoints = [%s] }\n}\n\n", name, strings.Join(refs, ", "))
}

const common = `
policy "quick" {
  breaker {
    window        = "3s"
    slow_window   = "20s"
    min_samples   = 10
    consecutive   = 4
    failure_ratio = 0.5
    cooldown      = "1s"
    cooldown_max  = "4s"
    probes        = 3
    ramp          = "3s"
  }
  attempts {
    max           = 3
    retry_reserve = 50
  }
}

model "m" {
  use               = [policy.quick]
  artifact          = "m@1"
  capabilities      = ["chat", "stream"]
  context_window    = 8192
  max_output_tokens = 1024
  price {
    input  = "0"
    output = "0"
  }
}

`

const providerAndEndpoint = `
provider "p-%[1]s" {
  dialect  = "openai-compatible"
  base_url = "%[2]s"
}

endpoint "%[1]s" {
  provider    = provider.p-%[1]s
  model       = model.m
  wire_model  = "m-%[1]s"
  apis        = ["openai.chat"]
  region      = "eu"
  concurrency = 100
  credential  = "cloud"
}

`

// publish stores a catalog's folder.
func (s *scene) publish(dir string) {
	s.t.Helper()
	must(s.t, s.addr, "catalog", "publish", dir)
}

// converge waits until every caller runs a revision and returns how long that took.
func (s *scene) converge(within time.Duration, revision uint64, callers ...application) time.Duration {
	s.t.Helper()
	return eventually(s.t, within, fmt.Sprintf("every caller runs revision %d", revision), func() bool {
		for _, c := range callers {
			if c.state().Revision != revision {
				return false
			}
		}
		return true
	})
}

// noneFailed fails the test for every call that failed, or was shed, so far.
func noneFailed(t *testing.T, callers ...application) {
	t.Helper()
	for _, c := range callers {
		if s := c.state(); s.Failed > 0 || s.Shed > 0 || s.Served == 0 {
			t.Errorf("%s: %d served, %d failed, %d shed: %s", c.name, s.Served, s.Failed, s.Shed, strings.Join(s.Errors, "; "))
		}
	}
}

// advance waits until every caller has served n more calls: what then holds, held under traffic.
func advance(t *testing.T, n int, callers ...application) {
	t.Helper()
	for _, c := range callers {
		want := c.state().Served + n
		eventually(t, 20*time.Second, fmt.Sprintf("%s serves %d calls", c.name, want), func() bool { return c.state().Served >= want })
	}
}
