//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"
)

// suspend stops a process as if its machine had no time for it, and resume goes on.
func (p *process) suspend() { p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *process) resume()  { p.cmd.Process.Signal(syscall.SIGCONT) }

// Whatever is killed, stopped and started again while operators publish, pin and drain: no
// call fails, and in the end everybody runs what is published.
func TestAStormOfRestartsFailsNoCall(t *testing.T) {
	s, callers := threeCallers(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	nodes := []string{"n1", "n2"}
	shapes := []string{s.serving("storm0", "a b", "b"), s.serving("storm1", "a", "a b"), s.serving("storm2", "b", "a")}
	operate := func(args ...string) { cli(t, s.addr, args...) } // it may be refused while things are down
	for end, n := time.Now().Add(25*time.Second), 0; time.Now().Before(end); n++ {
		node := nodes[r.IntN(2)]
		switch r.IntN(9) {
		case 0:
			s.control.kill()
			time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
			s.startControl()
		case 1:
			s.control.suspend()
			time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
			s.control.resume()
		case 2:
			s.agents[node].kill()
			time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
			s.startAgent(node)
		case 3:
			s.agents[node].suspend()
			time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
			s.agents[node].resume()
		case 4, 5:
			operate("catalog", "publish", shapes[n%3], "-message", fmt.Sprint("storm ", n))
		case 6:
			operate("catalog", "pin", "1", "-reason", "storm")
		case 7:
			operate("catalog", "unpin", "-reason", "storm")
		case 8:
			operate("endpoint", "drain", "b", "-for", "2s", "-reason", "storm")
		}
	}
	operate("catalog", "unpin", "-reason", "calm")
	s.publish(s.serving("calm", "b", "a"))
	type head struct {
		Published uint64 `json:",string"`
	}
	now := answer[struct{ Head head }](t, must(t, s.addr, "status", "-json"))
	s.converge(90*time.Second, now.Head.Published, callers...)
	noneFailed(t, callers...)
	for _, p := range []*process{s.control, s.agents["n1"], s.agents["n2"]} {
		if log := join(p.output()); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic:") {
			t.Errorf("%s:\n%s", p.name, log)
		}
	}
}
