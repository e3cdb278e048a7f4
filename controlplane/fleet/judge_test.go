package fleet

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

// A crowd is not judged on every report of a failure, but soon, and though no further one comes.
func TestACrowdIsJudgedAfterItsRest(t *testing.T) {
	p := newPaced(route.Endpoint{Name: "a", Breaker: riotCatalog().Endpoints[0].Breaker})
	say := func(leaf int, sequence, ok, failed uint64) {
		p.Observe(p.now, route.Report{Leaf: fmt.Sprint(leaf), Sequence: sequence, At: p.now, Rows: []route.Row{{Endpoint: "a", Identity: 1, Workload: "chat", Admitted: ok, AdmitFailed: failed}}})
	}
	for leaf := range 2000 {
		say(leaf, 1, 1, 0)
	}
	p.now += 5 * second
	p.Tick(p.now)
	say(0, 2, 0, 1) // judged at once: well
	for leaf := range 1999 {
		say(leaf+1, 2, 0, 3)
	}
	if n := len(p.Events()); n > 0 {
		t.Fatalf("%d events in a rest", n)
	}
	next := p.Tick(p.now)
	if next <= p.now || next > p.now+100_000 {
		t.Fatalf("the next tick is due in %d µs", next-p.now)
	}
	p.now = next
	p.Tick(p.now)
	if events := p.Events(); len(events) != 1 || events[0].Kind != Opened {
		t.Errorf("after the rest: %v", events)
	}
}
