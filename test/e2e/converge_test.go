//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// 400 leaves at one call a second, and as many without anybody above them: together they need
// a small part of the failures that each by itself needs to avoid an endpoint.
func TestReplicasConvergeAsProcesses(t *testing.T) {
	const processes, each = 4, 100
	c := newCluster(t)
	catalog := c.usual("a", "b", "c", "d", "e", "f", "g", "safe")
	must(t, c.addr(0), "catalog", "publish", catalog)
	snapshot := filepath.Join(c.dir, "snapshot")
	must(t, c.addr(0), "catalog", "compile", catalog, "-out", snapshot)
	var alone crowds
	for i := range processes {
		c.startAgent(i)
		config := leavesConfig{Faults: c.faults(), Leaves: each, Every: time.Second, Look: 500 * time.Millisecond}
		config.Name, config.Snapshot = fmt.Sprint("alone", i), snapshot
		alone = append(alone, startLeaves(t, config))
		config.Name, config.Snapshot, config.Parents, config.Node = fmt.Sprint("app", i), "", []string{"unix://" + c.socket(i)}, fmt.Sprint("n", i)
		c.crowds = append(c.crowds, startLeaves(t, config))
	}
	eventually(t, 60*time.Second, "all leaves call", func() bool { return min(c.crowds.picks(), alone.picks()) > 5*processes*each })
	c.fault("a", true)
	began := time.Now()
	time.Sleep(time.Minute)
	together, probes, last := c.crowds.hits("a")
	local, _, lastLocal := alone.hits("a")
	t.Logf("together %d requests hit it, the last after %v, and %d probes; alone %d, the last after %v: 1/%.1f",
		together, last.Sub(began), probes, local, lastLocal.Sub(began), float64(local)/float64(max(together, 1)))
	if together*25 > local || together == 0 {
		t.Errorf("%d requests hit the endpoint that failed, want at most 1/25 of %d", together, local)
	}
	c.within("from the fault to the last request that hit it", last.Sub(began), 1500*time.Millisecond)
}
