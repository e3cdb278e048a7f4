// Package metrics gives Prometheus what a replica of the control plane tells of itself, of its
// store and of the fleet. It reads figures and judges nothing. cmd/pointsman-controlplane uses it.
package metrics

import (
	"time"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/agent/metrics"
)

// Figures are how a replica does, at one moment.
type Figures struct {
	Leader Leader
	Heads  []metrics.HeadAge // of the catalog: since etcd confirmed it; of the fleet: since the leader was heard
	Store  Store
	Fleet  Fleet
	Judged Judged
	Hub    hub.Figures
}

// Leader says who leads.
type Leader struct {
	Known bool
	Leads bool // this replica
	Term  uint64
}

// Store is how etcd does, as this replica sees it.
type Store struct {
	Reachable bool
	Writes    uint64        // since the start
	Failed    uint64        // of them
	Took      time.Duration // all of them together
}

// Fleet is what is served, and who runs it.
type Fleet struct {
	Endpoints, Workloads, Instances, Overrides int
	Leaves, Behind, Nacked, Nodes              int
	Spent, Shedding, Alarms                    int
	Breakers                                   map[Breaker]int
}

// Breaker is one endpoint's that is not closed.
type Breaker struct{ Endpoint, State string }

// Judged counts what this replica did as leader, since the start.
type Judged struct {
	Events map[string]uint64 // by kind
	Grants uint64
	Lost   uint64 // reports that came faster than they were judged
}
