package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/pointsman/pointsman/agent/hub"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestAScrapeSaysHowAnAgentDoes(t *testing.T) {
	f := Figures{
		Connected: true, Leaves: 3, Journal: 2048,
		Heads: HeadAges([]*pb.HeadAge{
			{Track: pb.Track_TRACK_CATALOG, AgeUs: 1_500_000, Generation: 7}, {Track: pb.Track_TRACK_FLEET, AgeUs: 20_000}, {Track: 99},
		}),
		Hub:  hub.Figures{Children: 4, Relays: 1, Oldest: time.Second.Microseconds(), Refused: 5, Totals: hub.Totals{Bytes: 6000}},
		Node: Node{Engines: 5, Read: 4, Reached: 2, Unreached: 1},
	}
	want := `
# HELP pointsman_head_age_seconds How long ago the origin of a track was last heard, over all relays.
# TYPE pointsman_head_age_seconds gauge
pointsman_head_age_seconds{track="catalog"} 1.5
pointsman_head_age_seconds{track="fleet"} 0.02
# HELP pointsman_head_generation Generation of the catalog's head, as it was last heard.
# TYPE pointsman_head_generation gauge
pointsman_head_generation 7
# HELP pointsman_hub_children Streams of children that are open.
# TYPE pointsman_hub_children gauge
pointsman_hub_children 4
# HELP pointsman_hub_refused_total Streams that were refused.
# TYPE pointsman_hub_refused_total counter
pointsman_hub_refused_total 5
# HELP pointsman_hub_sent_bytes_total Bytes that were sent to children.
# TYPE pointsman_hub_sent_bytes_total counter
pointsman_hub_sent_bytes_total 6000
# HELP pointsman_hub_unacked_seconds How long the oldest update that was sent waits for its ack.
# TYPE pointsman_hub_unacked_seconds gauge
pointsman_hub_unacked_seconds 1
# HELP pointsman_journal_bytes What is kept of records.
# TYPE pointsman_journal_bytes gauge
pointsman_journal_bytes 2048
# HELP pointsman_leaves Running libraries that are known.
# TYPE pointsman_leaves gauge
pointsman_leaves 3
# HELP pointsman_node_endpoints Endpoints by whether their address took a connection last time.
# TYPE pointsman_node_endpoints gauge
pointsman_node_endpoints{reached="no"} 1
pointsman_node_endpoints{reached="yes"} 2
# HELP pointsman_node_engines Model servers by whether their load could be read a moment ago.
# TYPE pointsman_node_engines gauge
pointsman_node_engines{read="no"} 1
pointsman_node_engines{read="yes"} 4
# HELP pointsman_parent_connected 1 while there is a stream to a parent.
# TYPE pointsman_parent_connected gauge
pointsman_parent_connected 1
`
	c := Collector(func() Figures { return f }, Agent())
	names := []string{
		"pointsman_head_age_seconds", "pointsman_head_generation", "pointsman_hub_children", "pointsman_hub_refused_total",
		"pointsman_hub_sent_bytes_total", "pointsman_hub_unacked_seconds", "pointsman_journal_bytes", "pointsman_leaves",
		"pointsman_node_endpoints", "pointsman_node_engines", "pointsman_parent_connected",
	}
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// Names may come from other hosts: one that is no text spoils no scrape.
func TestALabelThatIsNoTextSpoilsNothing(t *testing.T) {
	c := Collector(func() []string { return []string{"a\xffb", "c"} }, []Family[[]string]{
		Gauge("example", "An example.", func(all []string, say Say) {
			for _, l := range all {
				say(1, l)
			}
			say(1, "too", "many")
		}, "name"),
	})
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	all, err := r.Gather()
	if err != nil || len(all) != 1 || len(all[0].GetMetric()) != 2 {
		t.Errorf("%v, error %v", all, err)
	}
}

// What is told twice would spoil a scrape: each look is one whole.
func TestAScrapeLooksOnce(t *testing.T) {
	looks := 0
	c := Collector(func() Figures { looks++; return Figures{} }, Agent())
	if n := testutil.CollectAndCount(c); n == 0 || looks != 1 {
		t.Errorf("%d series, %d looks", n, looks)
	}
	problems, err := testutil.CollectAndLint(c)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, error %v", problems, err)
	}
}
