// Package clientprom gives Prometheus what a client sees: attempts, calls, tokens and money
// by workload, endpoint and tenant, and the state of endpoints. Nothing of prompts or
// answers is in it.
package clientprom

import (
	"cmp"
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pointsman/pointsman/clientlib"
)

// Config bounds the labels.
type Config struct {
	Tenants    []string // that have a label of their own
	MaxTenants int      // so many have one, with the first that call; the rest are "other"; default 100, negative: none but Tenants
}

const defaultMaxTenants = 100

// Metrics are a client's: its Observer, and a Collector for a registry.
type Metrics struct {
	series
	tenants  names
	attempts table[attemptKey, attempt]
	calls    table[callKey, call]
	client   atomic.Pointer[clientlib.Client]
}

// New makes metrics that are 0.
func New(c Config) *Metrics {
	m := &Metrics{series: newSeries()}
	m.tenants.most = max(cmp.Or(c.MaxTenants, defaultMaxTenants), len(c.Tenants))
	for _, name := range c.Tenants {
		m.tenants.of(name)
	}
	return m
}

// Watch adds the state of a client to every scrape: what waits, breakers, what is limited.
func (m *Metrics) Watch(c *clientlib.Client) { m.client.Store(c) }

// Attempt counts an attempt that has ended.
func (m *Metrics) Attempt(a clientlib.AttemptInfo) {
	s := m.attempts.of(attemptKey{a.Workload, a.Endpoint, a.Outcome.Kind}, m.attempt)
	s.total.Inc()
	s.duration.Observe(a.Total.Seconds())
	if a.FirstToken > 0 {
		s.firstToken.Observe(a.FirstToken.Seconds())
	}
	if a.Number > 1 {
		s.retries.Inc()
	}
	s.spend(&a)
}

// spend counts what the attempt used.
func (s *attempt) spend(a *clientlib.AttemptInfo) {
	if !a.Outcome.HasUsage {
		return
	}
	u := a.Outcome.Usage
	add(s.input, u.Input)
	add(s.cached, u.Cached)
	add(s.written, u.Written)
	add(s.output, u.Output)
	s.cost.Add(float64(a.Cost) / 1e9) // a float64; exact is what attempts say
	if a.Outcome.Estimated {
		s.estimated.Inc()
	}
}

// add does without what no counter takes: whoever settles an attempt may say anything.
func add(c prometheus.Counter, n int64) { c.Add(float64(max(n, 0))) }

// Call counts a call that has ended.
func (m *Metrics) Call(c clientlib.CallInfo) {
	if errors.Is(c.Err, clientlib.ErrUnknownWorkload) {
		c.Workload = other // it is the caller's word, of which there is no end
	}
	s := m.calls.of(callKey{c.Workload, m.tenants.of(c.Tenant), c.End()}, m.call)
	s.total.Inc()
	s.duration.Observe(c.Total.Seconds())
	s.wait.Observe(c.Waited.Seconds())
	if c.FirstToken > 0 {
		s.firstToken.Observe(c.FirstToken.Seconds())
	}
	add(s.tokens, c.Usage.Input)
	add(s.tokens, c.Usage.Output)
	if s.sheds != nil {
		s.sheds.Inc()
	}
}

// Event counts a change of state.
func (m *Metrics) Event(e clientlib.Event) {
	m.events.WithLabelValues(e.Kind).Inc()
	if e.Kind == "dropped" {
		m.dropped.Add(float64(e.Count))
	}
}

// Describe is for the registry.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(to)
	}
	for _, d := range states {
		to <- d
	}
}

// Collect is for the registry.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(to)
	}
	if c := m.client.Load(); c != nil {
		collect(c, to)
	}
}
