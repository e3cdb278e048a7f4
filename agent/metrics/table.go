// Package metrics gives Prometheus what an agent tells of itself when it is asked, and its hub,
// which replicas have too. It reads figures and judges nothing; nothing is kept between scrapes.
// cmd/pointsman-agent and controlplane/metrics use it.
package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

const prefix = "pointsman_"

// Say says one value of a family; labels are in the family's order.
type Say func(value float64, labels ...string)

// Family is one metric, read off figures of type F.
type Family[F any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(F, Say)
}

// Gauge is a family of levels.
func Gauge[F any](name, help string, read func(F, Say), labels ...string) Family[F] {
	return Family[F]{prometheus.NewDesc(prefix+name, help, labels, nil), prometheus.GaugeValue, read}
}

// Counter is a family of what only grows.
func Counter[F any](name, help string, read func(F, Say), labels ...string) Family[F] {
	return Family[F]{prometheus.NewDesc(prefix+name, help, labels, nil), prometheus.CounterValue, read}
}

// Of reads a family off figures that have its own as a part.
func Of[F, P any](part func(F) P, families []Family[P]) []Family[F] {
	out := make([]Family[F], 0, len(families))
	for _, f := range families {
		out = append(out, Family[F]{f.desc, f.kind, func(all F, say Say) { f.read(part(all), say) }})
	}
	return out
}

// table is the collector of some families.
type table[F any] struct {
	look     func() F
	families []Family[F]
}

// Collector looks once a scrape.
func Collector[F any](look func() F, families []Family[F]) prometheus.Collector {
	return &table[F]{look, families}
}

// Describe is for the registry.
func (t *table[F]) Describe(to chan<- *prometheus.Desc) {
	for _, f := range t.families {
		to <- f.desc
	}
}

// Collect is for the registry.
func (t *table[F]) Collect(to chan<- prometheus.Metric) {
	figures := t.look()
	for _, f := range t.families {
		f.read(figures, func(v float64, labels ...string) {
			for i, l := range labels {
				labels[i] = strings.ToValidUTF8(l, "\uFFFD") // names come from other hosts
			}
			if m, err := prometheus.NewConstMetric(f.desc, f.kind, v, labels...); err == nil {
				to <- m
			}
		})
	}
}

// Truth is 1 for yes.
func Truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
