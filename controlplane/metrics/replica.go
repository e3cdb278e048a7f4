package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/agent/metrics"
)

// Replica are the families of a replica.
func Replica() []metrics.Family[Figures] {
	return slices.Concat(
		metrics.Of(func(f Figures) Leader { return f.Leader }, leaders()),
		metrics.Of(func(f Figures) []metrics.HeadAge { return f.Heads }, metrics.Heads()),
		metrics.Of(func(f Figures) Store { return f.Store }, stores()),
		metrics.Of(func(f Figures) Fleet { return f.Fleet }, fleets()),
		metrics.Of(func(f Figures) Judged { return f.Judged }, judged()),
		metrics.Of(func(f Figures) hub.Figures { return f.Hub }, metrics.Hubs()),
	)
}

func leaders() []metrics.Family[Leader] {
	return []metrics.Family[Leader]{
		metrics.Gauge("leader_known", "1 while some replica leads.", func(l Leader, say metrics.Say) { say(metrics.Truth(l.Known)) }),
		metrics.Gauge("leads", "1 while this replica leads.", func(l Leader, say metrics.Say) { say(metrics.Truth(l.Leads)) }),
		metrics.Gauge("term", "Term of the leader, as far as this replica knows.", func(l Leader, say metrics.Say) { say(float64(l.Term)) }),
	}
}

func stores() []metrics.Family[Store] {
	return []metrics.Family[Store]{
		metrics.Gauge("store_reachable", "1 while etcd answers.", func(s Store, say metrics.Say) { say(metrics.Truth(s.Reachable)) }),
		metrics.Counter("store_writes_total", "Transactions that write to etcd.", func(s Store, say metrics.Say) { say(float64(s.Writes)) }),
		metrics.Counter("store_writes_failed_total", "Of those, the failed ones.", func(s Store, say metrics.Say) { say(float64(s.Failed)) }),
		metrics.Counter("store_write_seconds_total", "Time that they took, all together.", func(s Store, say metrics.Say) { say(s.Took.Seconds()) }),
	}
}

func judged() []metrics.Family[Judged] {
	return []metrics.Family[Judged]{
		metrics.Counter("fleet_events_total", "What happened to the fleet, by kind, as this replica told it while it led.", func(j Judged, say metrics.Say) {
			for kind, n := range j.Events {
				say(float64(n), kind)
			}
		}, "kind"),
		metrics.Counter("grants_total", "Grants that this replica made while it led.", func(j Judged, say metrics.Say) { say(float64(j.Grants)) }),
		metrics.Counter("reports_lost_total", "Reports that came faster than they were judged.", func(j Judged, say metrics.Say) { say(float64(j.Lost)) }),
	}
}

// Collector looks at a replica once a scrape.
func Collector(look func() Figures) prometheus.Collector {
	return metrics.Collector(look, Replica())
}
