package route_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

func TestAShedCountsAllAndNamesEight(t *testing.T) {
	for _, tenant := range []string{"", "nobody"} {
		s := newStage()
		tiers := ""
		for i := range 10 {
			s.run(fmt.Sprintf("endpoint e%d weight=0", i))
			tiers += fmt.Sprintf(",e%d", i)
		}
		s.run("workload w tiers=t:" + tiers[1:])
		s.run("tenant default workloads=*")
		s.run("apply")
		var e *route.ShedError
		if err := s.router.Explain(s.now, "w", route.Request{Tenant: tenant}).Err; !errors.As(err, &e) {
			t.Fatal(err)
		}
		if n := e.Counts[route.ReasonDrained] + e.Counts[route.ReasonTenant]; n != 10 || len(e.Examples) != 8 {
			t.Errorf("tenant %q: %d counted, %d named", tenant, n, len(e.Examples))
		}
	}
}
