package clientprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pointsman/pointsman/clientlib"
)

// What a client says of itself when it is asked.
var (
	waitingCalls  = gauge("waiting_calls", "Calls that wait for their turn.", "workload")
	waitingOldest = gauge("waiting_oldest_seconds", "How long the first of them has waited.", "workload")
	inFlight      = gauge("endpoint_in_flight", "Attempts at the endpoint that have not ended.", "endpoint")
	breakerState  = gauge("endpoint_breaker", "1 for the state of this process's breaker, the worst of its classes.", "endpoint", "state")
	limited       = gauge("endpoint_limited", "1 when limits have refused the endpoint for five minutes on end.", "endpoint")
	spilling      = gauge("workload_spilling", "1 when more than a fifth of the attempts went below the first tier, five minutes on end.", "workload")
	states        = []*prometheus.Desc{waitingCalls, waitingOldest, inFlight, breakerState, limited, spilling}
)

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

func collect(c *clientlib.Client, to chan<- prometheus.Metric) {
	set := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, w := range c.Waiting() {
		set(waitingCalls, float64(w.Count), w.Workload)
		set(waitingOldest, w.Oldest.Seconds(), w.Workload)
	}
	for _, e := range c.Endpoints() {
		set(inFlight, float64(e.InFlight), e.Name)
		set(breakerState, 1, e.Name, e.Local)
	}
	for _, s := range c.Strains() {
		if s.Endpoint != "" {
			set(limited, 1, s.Endpoint)
		} else {
			set(spilling, 1, s.Workload)
		}
	}
}
