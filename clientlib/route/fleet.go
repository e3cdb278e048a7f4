package route

import "github.com/pointsman/pointsman/clientlib/route/breaker"

// Fleet is what the leader has learned, dated on the reader's own clock. A row expires
// to neutral 30 s after At, its speed after 10 minutes; its breakers keep their own time.
type Fleet struct {
	Version   FleetVersion
	Endpoints []FleetEndpoint
	Workloads []FleetWorkload
	Instances []FleetInstances // they stay while all else expires
}

// FleetVersion orders overlays by (Epoch, Term, Sequence).
type FleetVersion struct {
	Epoch, Term, Sequence uint64
}

// FleetEndpoint is the fleet's knowledge of one endpoint.
type FleetEndpoint struct {
	Name     string
	Identity uint64
	At       int64   // when it was true, µs
	Speed    float64 // 1: the pool's; 0: not learned
	Breakers []FleetBreaker
	Loads    []FleetLoad
}

// FleetState is the fleet's word on one class of an endpoint.
type FleetState uint8

// The states of a fleet breaker.
const (
	FleetClosed FleetState = iota
	FleetOpen
	FleetHalfOpen
	FleetRamp
)

// FleetBreaker is one key of the fleet's breakers. Times are on the reader's clock, µs.
type FleetBreaker struct {
	Class         breaker.Class
	Locality      string // empty: everywhere
	State         FleetState
	Round         uint64
	Soft          bool // opened by latency
	Reason        string
	OpenUntil     int64 // when open; only moves later within a round
	RampFrom      int64
	RampFor       int64
	RampSuccesses uint64 // of the fleet, since the ramp began
}

// FleetLoad is the fleet's sum for one locality.
type FleetLoad struct {
	Locality            string
	InFlight            uint64
	PendingPromptTokens uint64
	OutstandingTokens   uint64
	Successes, Samples  float64 // decayed
	Slowdown            float64 // how many times as long first tokens took as their inputs explain: decayed sums
	SlowdownSamples     float64
	Witnesses           uint32 // nodes that use it
}

// FleetWorkload scales one workload's retries, 0 to 1.
type FleetWorkload struct {
	Name        string
	At          int64 // when it was true, µs; it counts for 30 s. 0: not dated, it always does
	RetryFactor float64
}

// Permit lets this leaf send one probe to an endpoint whose fleet breaker is half-open.
type Permit struct {
	Number   uint64
	Endpoint string
	Identity uint64
	Class    breaker.Class
	Phase    breaker.Phase // what opened it: judged at the first token, or at the end
	Round    uint64
	UseBy    int64 // on the reader's clock, µs
}
