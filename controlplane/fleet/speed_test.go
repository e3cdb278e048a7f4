package fleet

import (
	"math"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

// paced is a judge of one tier, with reports each second of how long work took.
type paced struct {
	*Fleet
	now      int64
	sequence uint64
}

func newPaced(endpoints ...route.Endpoint) *paced {
	w := route.Workload{Name: "chat", Tiers: []route.Tier{{}}}
	for i := range endpoints {
		endpoints[i].Identity, endpoints[i].Weight = 1, route.Absent
		w.Tiers[0].Endpoints = append(w.Tiers[0].Endpoints, endpoints[i].Name)
	}
	p := &paced{Fleet: New(Config{Term: 1}), now: 1}
	p.Apply(p.now, &route.Catalog{Endpoints: endpoints, Workloads: []route.Workload{w}})
	return p
}

// second reports work ÷ busy of some endpoints and lets a second pass.
func (p *paced) second(pace map[string]float64) {
	p.sequence++
	r := route.Report{Leaf: "l", Sequence: p.sequence, At: p.now}
	for name, v := range pace {
		r.Rows = append(r.Rows, route.Row{Endpoint: name, Identity: 1, Workload: "chat", Admitted: 9, Finished: 9, WorkUS: uint64(v * 9e6), BusyUS: 9e6})
	}
	p.Observe(p.now, r)
	p.now += second
	p.Tick(p.now)
}

func (p *paced) speed(name string) float64 {
	row, _ := p.Row(p.now, name)
	return row.Speed
}

func TestASpeedGoesAFifthASecondAndStaysWithinItsBounds(t *testing.T) {
	p := newPaced(route.Endpoint{Name: "a"}, route.Endpoint{Name: "b"}, route.Endpoint{Name: "c"}, route.Endpoint{Name: "d"}, route.Endpoint{Name: "e"}, route.Endpoint{Name: "f"})
	pace := map[string]float64{"a": 1e9, "b": 1e-5, "c": 0.1, "d": 0.1, "e": 0.1, "f": 0.1}
	before := map[string]float64{}
	for range 60 {
		p.second(pace)
		for name := range pace {
			now := p.endpoints[name].speed.now
			if was := before[name]; was > 0 && (now > 1.2001*was || now < was/1.2001) {
				t.Fatalf("%s went from %g to %g in a second", name, was, now)
			}
			if now < slowest || now > fastest || math.IsNaN(now) {
				t.Fatalf("%s: %g", name, now)
			}
			before[name] = now
		}
	}
	if p.speed("a") != fastest || p.speed("b") != slowest {
		t.Errorf("the fastest has %g, the slowest %g", p.speed("a"), p.speed("b"))
	}
}

func TestOneLeafCountsForTenSecondsOfWorkInAReport(t *testing.T) {
	p := newPaced(route.Endpoint{Name: "a"}, route.Endpoint{Name: "b"})
	p.sequence++
	p.Observe(p.now, route.Report{Leaf: "l", Sequence: p.sequence, At: p.now, Rows: []route.Row{{Endpoint: "a", Identity: 1, Workload: "chat", Finished: 1, WorkUS: math.MaxUint64, BusyUS: math.MaxUint64}}})
	if s := p.endpoints["a"].speed; s.busy != mostBusy {
		t.Errorf("%g µs", s.busy)
	}
}

func TestASpeedThatIsNotNewsIsNotTold(t *testing.T) {
	p := newPaced(route.Endpoint{Name: "a"}, route.Endpoint{Name: "b"})
	for i := range 30 {
		p.second(map[string]float64{"a": 1 + 0.01*float64(i%2), "b": 1})
		if p.speed("a") != 0 || p.speed("b") != 0 {
			t.Fatalf("equal endpoints have speeds %g and %g", p.speed("a"), p.speed("b"))
		}
	}
}

func TestASpeedIsToldAgainAsLongAsItLasts(t *testing.T) {
	p := newPaced(route.Endpoint{Name: "a", Capacity: route.Capacity{TPOT: 5_000}}, route.Endpoint{Name: "b"})
	for range 120 {
		p.second(nil)
		for _, name := range []string{"a", "b"} {
			if row, ok := p.Row(p.now, name); p.now > 10*second && (!ok || row.Speed == 0 || p.now-row.At >= silence) {
				t.Fatalf("after %d s: %+v", p.now/second, row)
			}
		}
	}
}
