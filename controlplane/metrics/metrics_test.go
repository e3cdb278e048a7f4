package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestAScrapeSaysHowAReplicaDoes(t *testing.T) {
	f := Figures{
		Leader: Leader{Known: true, Leads: true, Term: 12},
		Store:  Store{Reachable: true, Writes: 9, Failed: 1, Took: 1500 * time.Millisecond},
		Fleet:  Fleet{Leaves: 60, Behind: 2, Breakers: map[Breaker]int{{"gpu-a", "open"}: 1, {"gpu-b", "open"}: 2, {"gpu-b", "ramp"}: 1}},
		Judged: Judged{Events: map[string]uint64{"opened": 3, "leader": 1}, Grants: 8, Lost: 4},
	}
	want := `
# HELP pointsman_fleet_breaker How many of an endpoint's fleet breakers are in a state; none when all are closed.
# TYPE pointsman_fleet_breaker gauge
pointsman_fleet_breaker{endpoint="gpu-a",state="open"} 1
pointsman_fleet_breaker{endpoint="gpu-b",state="open"} 2
pointsman_fleet_breaker{endpoint="gpu-b",state="ramp"} 1
# HELP pointsman_fleet_breakers Breakers of the fleet that are not closed, by state.
# TYPE pointsman_fleet_breakers gauge
pointsman_fleet_breakers{state="half_open"} 0
pointsman_fleet_breakers{state="open"} 3
pointsman_fleet_breakers{state="ramp"} 1
# HELP pointsman_fleet_events_total What happened to the fleet, by kind, as this replica told it while it led.
# TYPE pointsman_fleet_events_total counter
pointsman_fleet_events_total{kind="leader"} 1
pointsman_fleet_events_total{kind="opened"} 3
# HELP pointsman_grants_total Grants that this replica made while it led.
# TYPE pointsman_grants_total counter
pointsman_grants_total 8
# HELP pointsman_leads 1 while this replica leads.
# TYPE pointsman_leads gauge
pointsman_leads 1
# HELP pointsman_leaves_behind Of those, the ones that do not run head.
# TYPE pointsman_leaves_behind gauge
pointsman_leaves_behind 2
# HELP pointsman_reports_lost_total Reports that came faster than they were judged.
# TYPE pointsman_reports_lost_total counter
pointsman_reports_lost_total 4
# HELP pointsman_store_write_seconds_total Time that they took, all together.
# TYPE pointsman_store_write_seconds_total counter
pointsman_store_write_seconds_total 1.5
# HELP pointsman_store_writes_total Transactions that write to etcd.
# TYPE pointsman_store_writes_total counter
pointsman_store_writes_total 9
# HELP pointsman_term Term of the leader, as far as this replica knows.
# TYPE pointsman_term gauge
pointsman_term 12
`
	c := Collector(func() Figures { return f })
	names := []string{
		"pointsman_fleet_breaker", "pointsman_fleet_breakers", "pointsman_fleet_events_total", "pointsman_grants_total", "pointsman_leads",
		"pointsman_leaves_behind", "pointsman_reports_lost_total", "pointsman_store_write_seconds_total", "pointsman_store_writes_total", "pointsman_term",
	}
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	problems, err := testutil.CollectAndLint(c)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, error %v", problems, err)
	}
}

// However many break, a scrape stays small, and none is lost from the sum.
func TestAnOutageOfEverythingKeepsAScrapeSmall(t *testing.T) {
	f := Figures{Fleet: Fleet{Breakers: map[Breaker]int{}}}
	for i := range 5000 {
		f.Fleet.Breakers[Breaker{fmt.Sprint("e", i), "open"}] = 1
	}
	c := Collector(func() Figures { return f })
	if n := testutil.CollectAndCount(c, "pointsman_fleet_breaker"); n != maxBreakers {
		t.Errorf("%d series, want %d", n, maxBreakers)
	}
	want := `
# HELP pointsman_fleet_breakers Breakers of the fleet that are not closed, by state.
# TYPE pointsman_fleet_breakers gauge
pointsman_fleet_breakers{state="half_open"} 0
pointsman_fleet_breakers{state="open"} 5000
pointsman_fleet_breakers{state="ramp"} 0
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), "pointsman_fleet_breakers"); err != nil {
		t.Error(err)
	}
}
