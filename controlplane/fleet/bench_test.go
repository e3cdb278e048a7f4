package fleet

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

const (
	crowded = 5000 // leaves, each a node
	used    = 8    // endpoints
)

// crowd reports as 5,000 leaves do.
type crowd struct {
	*Fleet
	now      int64
	sequence uint64
	names    []string
	rows     []route.Row
}

func newCrowd() *crowd {
	c := &crowd{Fleet: New(Config{Term: 1}), now: 1}
	catalog := &route.Catalog{Workloads: []route.Workload{{Name: "chat", Tiers: []route.Tier{{}}}}}
	for i := range used {
		name := fmt.Sprintf("e%d", i)
		catalog.Endpoints = append(catalog.Endpoints, route.Endpoint{
			Name: name, Identity: 1, Provider: fmt.Sprintf("p%d", i/2), Weight: route.Absent,
			Breaker: breaker.Policy{Window: 5 * second, SlowWindow: minute, MinSamples: 20, FailureRatio: 0.5, Cooldown: 5 * second, CooldownMax: minute, Probes: 3, Ramp: 30 * second, MaxEjected: 0.5},
		})
		catalog.Workloads[0].Tiers[0].Endpoints = append(catalog.Workloads[0].Tiers[0].Endpoints, name)
		for _, class := range []breaker.Class{breaker.Any, breaker.Stream} {
			c.rows = append(c.rows, route.Row{Endpoint: name, Identity: 1, Class: class, Workload: "chat", Admitted: 2, Finished: 2, InFlight: 1, WorkUS: 6e6, BusyUS: 6e6})
		}
	}
	for i := range crowded {
		c.names = append(c.names, fmt.Sprintf("l%04d", i))
	}
	c.Apply(c.now, catalog)
	return c
}

// report is one leaf's, with a tick as often as 50 ms.
func (c *crowd) report(i int, failed uint64) {
	if i%250 == 0 {
		c.now += 50_000
		c.Tick(c.now)
		c.Changed()
	}
	if i%crowded == 0 {
		c.sequence++
	}
	c.rows[0].AdmitFailed, c.rows[1].AdmitFailed = failed, failed
	c.Observe(c.now, route.Report{Leaf: c.names[i%crowded], Sequence: c.sequence, At: c.now, Interval: second, Rows: c.rows})
}

// BenchmarkObserve is a report of 16 rows, one of 5,000 leaves': well, and with one endpoint
// that fails for a tenth of the nodes, which is judged again and again.
func BenchmarkObserve(b *testing.B) {
	for name, failed := range map[string]uint64{"well": 0, "failing": 9} {
		b.Run(name, func(b *testing.B) {
			c := newCrowd()
			for i := range crowded {
				c.report(i, 0)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				c.report(crowded+n, failed*uint64(bit(n%10 == 0)))
				n++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*len(c.rows)), "ns/row")
			if len(c.events) > 0 {
				b.Errorf("it opened: %v", c.events[0])
			}
		})
	}
}

func TestALeafTakesLittleMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := newCrowd()
	for i := range 2 * crowded {
		c.report(i, 0)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	kib := float64(after.HeapAlloc-before.HeapAlloc) / 1024 / crowded
	t.Logf("%.1f KiB a leaf that uses %d endpoints in two classes", kib, used)
	if kib > 24 {
		t.Errorf("%.1f KiB a leaf", kib)
	}
	runtime.KeepAlive(c)
}
