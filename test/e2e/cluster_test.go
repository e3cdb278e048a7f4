//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// cluster is three members of etcd, three replicas that reach them through proxies, and
// agents with many leaves.
type cluster struct {
	t        *testing.T
	dir      string
	members  []etcdConfig
	etcd     []*process
	proxies  [][]*proxy // by replica
	replicas []*process
	agents   []*process
	crowds   crowds
}

const size = 3

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), etcd: make([]*process, size), replicas: make([]*process, size), proxies: make([][]*proxy, size)}
	var names []string
	for i := range size {
		m := etcdConfig{Name: fmt.Sprint("m", i), Dir: filepath.Join(c.dir, fmt.Sprint("m", i)), Client: freePort(t), Peer: freePort(t)}
		c.members, names = append(c.members, m), append(names, fmt.Sprintf("%s=http://%s", m.Name, m.Peer))
	}
	for i := range size {
		c.members[i].Cluster = strings.Join(names, ",")
		c.startMember(i)
	}
	for i := range size {
		c.waitMember(i)
	}
	for r := range size {
		for _, m := range c.members {
			c.proxies[r] = append(c.proxies[r], newProxy(t, m.Client))
		}
		c.startReplica(r)
	}
	return c
}

func (c *cluster) startMember(i int) {
	c.t.Helper()
	c.etcd[i] = startRole(c.t, roleEtcd, c.members[i].Name, c.members[i])
}

func (c *cluster) waitMember(i int) {
	c.t.Helper()
	eventually(c.t, 30*time.Second, c.members[i].Name+" is ready", func() bool { return slices.Contains(c.etcd[i].output(), "ready") })
}

// addr is where a replica is reached.
func (c *cluster) addr(i int) string {
	return "unix://" + filepath.Join(c.dir, fmt.Sprintf("r%d", i), "cp.sock")
}

func (c *cluster) startReplica(i int) {
	c.t.Helper()
	var etcd []string
	for _, p := range c.proxies[i] {
		etcd = append(etcd, p.addr)
	}
	name := fmt.Sprint("r", i)
	c.replicas[i] = start(c.t, name, filepath.Join(binaries, "pointsman-controlplane"), nil,
		"-listen", "", "-metrics-listen", "", "-socket", strings.TrimPrefix(c.addr(i), "unix://"), "-name", name, "-advertise", c.addr(i),
		"-etcd-endpoints", strings.Join(etcd, ","), "-log-json", "-log-level", "info")
	eventually(c.t, 30*time.Second, name+" answers", func() bool {
		code, _, _ := cli(c.t, c.addr(i), "status")
		return code == 0
	})
}

// startAgent starts one whose parents begin with another replica than its neighbour's.
func (c *cluster) startAgent(i int) {
	c.t.Helper()
	node := fmt.Sprint("n", i)
	args := []string{"-metrics-listen", "", "-socket", c.socket(i), "-state-dir", filepath.Join(c.dir, node, "state"), "-node", node, "-log-json"}
	for r := range size {
		args = append(args, "-parent", c.addr((i+r)%size))
	}
	for len(c.agents) <= i {
		c.agents = append(c.agents, nil)
	}
	c.agents[i] = start(c.t, "agent "+node, filepath.Join(binaries, "pointsman-agent"), nil, args...)
	eventually(c.t, 20*time.Second, "agent "+node+" listens", func() bool {
		_, err := os.Stat(c.socket(i))
		return err == nil
	})
}

func (c *cluster) socket(i int) string {
	return filepath.Join(c.dir, fmt.Sprint("n", i), "run", "agent.sock")
}

func (c *cluster) faults() string { return filepath.Join(c.dir, "faults") }

// fault makes an endpoint fail for all leaves, or not any more.
func (c *cluster) fault(endpoint string, on bool) {
	c.t.Helper()
	path := filepath.Join(c.faults(), endpoint)
	err := os.MkdirAll(c.faults(), 0o755)
	if err == nil && on {
		err = os.WriteFile(path, nil, 0o644)
	} else if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// catalog writes a folder with endpoints in one pool, whose attempts differ by a number.
func (c *cluster) catalog(n int, endpoints ...string) string {
	return c.write(n, strings.Replace(common, "retry_reserve = 50", fmt.Sprintf("retry_reserve = %d", 50+n), 1), endpoints)
}

// usual is one whose breakers are as they are when nothing is said of them.
func (c *cluster) usual(endpoints ...string) string {
	begin, end := strings.Index(common, "  breaker {"), strings.Index(common, "  attempts {")
	return c.write(0, common[:begin]+common[end:], endpoints)
}

func (c *cluster) write(n int, common string, endpoints []string) string {
	c.t.Helper()
	dir := filepath.Join(c.dir, "catalogs", fmt.Sprint(n))
	var b strings.Builder
	b.WriteString(common)
	for _, e := range endpoints {
		b.WriteString(strings.Replace(fmt.Sprintf(providerAndEndpoint, e, "http://127.0.0.1:9/v1"), "  credential  = \"cloud\"\n", "", 1))
	}
	b.WriteString(workload("chat", endpoints...))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(b.String()), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return dir
}

// view is what a replica says of itself and the fleet.
type view struct {
	Leads  bool
	Head   struct{ Generation string }
	Leader struct {
		Replica string
		Since   time.Time
	}
}

// ask asks a replica; false: it does not answer.
func (c *cluster) ask(i int) (v view, ok bool) {
	c.t.Helper()
	code, out, _ := cli(c.t, c.addr(i), "status", "-json", "-timeout", "2s")
	if code != 0 {
		return v, false
	}
	return answer[view](c.t, out), true
}

// leader is the number of the replica that leads, as it says itself.
func (c *cluster) leader() int {
	found, _ := c.led()
	return found
}

// led says since when, too.
func (c *cluster) led() (found int, since time.Time) {
	c.t.Helper()
	eventually(c.t, 20*time.Second, "somebody leads", func() bool {
		for i := range size {
			if v, ok := c.ask(i); ok && v.Leads && v.Leader.Replica == fmt.Sprint("r", i) {
				found, since = i, v.Leader.Since
				return true
			}
		}
		return false
	})
	return found, since
}

// ledBy is the member that leads etcd's cluster.
func (c *cluster) ledBy() (found int) {
	c.t.Helper()
	client, ctx := c.store()
	eventually(c.t, 20*time.Second, "a member of etcd leads", func() bool {
		for i, m := range c.members {
			s, err := client.Status(ctx, m.Client)
			if err == nil && s.Leader == s.Header.MemberId {
				found = i
				return true
			}
		}
		return false
	})
	return found
}

// store reaches etcd directly, all members.
func (c *cluster) store() (*clientv3.Client, context.Context) {
	c.t.Helper()
	var endpoints []string
	for _, m := range c.members {
		endpoints = append(endpoints, m.Client)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 5 * time.Second})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { client.Close() })
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	c.t.Cleanup(cancel)
	return client, ctx
}

// operators publish, pin and roll back all along, at any replica, until they are stopped.
func (c *cluster) operators(catalogs []string) (stop func() (done int)) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var wg sync.WaitGroup
	done := 0
	wg.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			args := [][]string{
				{"catalog", "publish", catalogs[n/3%len(catalogs)], "-message", fmt.Sprint("turn ", n)},
				{"catalog", "pin", "1", "-reason", "turn"},
				{"catalog", "unpin", "-reason", "turn"},
			}[n%3]
			if code, _, _ := cli(c.t, c.addr(n%size), append(args, "-timeout", "5s")...); code == 0 {
				done++
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	return func() int {
		cancel()
		wg.Wait()
		return done
	}
}
