//go:build e2e

package e2e

import (
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Whatever is killed, stopped and started again while operators publish, pin and drain: no
// call fails, and in the end everybody runs what is published.
func TestAStormOfRestartsFailsNoCall(t *testing.T) {
	s, callers := threeCallers(t)
	seed := uint64(1) // STORM_SEED tries another
	if text := os.Getenv("STORM_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(seed, 1))
	shapes := []string{s.serving("storm0", "a b", "b"), s.serving("storm1", "a", "a b"), s.serving("storm2", "b", "a")}
	for end, n := time.Now().Add(25*time.Second), 0; time.Now().Before(end); n++ {
		s.disturb(r, shapes[n%len(shapes)])
	}
	s.operate("catalog", "unpin", "-reason", "calm")
	s.publish(s.serving("calm", "b", "a"))
	type head struct {
		Published uint64 `json:",string"`
	}
	now := answer[struct{ Head head }](t, must(t, s.addr, "status", "-json"))
	s.converge(90*time.Second, now.Head.Published, callers...)
	noneFailed(t, callers...)
}

// disturb takes a process away for a while, or changes what is served.
func (s *scene) disturb(r *rand.Rand, shape string) {
	outage := func(down, up func(), most time.Duration) {
		down()
		time.Sleep(time.Duration(r.Int64N(int64(most))))
		up()
	}
	node := []string{"n1", "n2"}[r.IntN(2)]
	switch r.IntN(9) {
	case 0:
		outage(s.control.kill, s.startControl, 1500*time.Millisecond)
	case 1:
		outage(s.control.suspend, s.control.resume, 3*time.Second)
	case 2:
		outage(s.agents[node].kill, func() { s.startAgent(node) }, 1500*time.Millisecond)
	case 3:
		outage(s.agents[node].suspend, s.agents[node].resume, 3*time.Second)
	case 4, 5:
		s.operate("catalog", "publish", shape, "-message", "storm")
	case 6:
		s.operate("catalog", "pin", "1", "-reason", "storm")
	case 7:
		s.operate("catalog", "unpin", "-reason", "storm")
	case 8:
		s.operate("endpoint", "drain", "b", "-for", "2s", "-reason", "storm")
	}
}

// operate runs a command that may be refused, in a storm.
func (s *scene) operate(args ...string) { cli(s.t, s.addr, args...) }

// suspend stops a process as if its machine had no time for it, and resume goes on.
func (p *process) suspend() { p.signal(syscall.SIGSTOP) }
func (p *process) resume()  { p.signal(syscall.SIGCONT) }

func (p *process) signal(s syscall.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("%s: %v: %v", p.name, s, err)
	}
}
