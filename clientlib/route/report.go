package route

import (
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// Report is one interval of one leaf: what Router.Report drains, and what the leader
// judges. It counts at most once, by (Leaf, Incarnation, Sequence). The shell fills
// who and when; the core fills the rest.
type Report struct {
	Leaf, Node, Locality  string
	Incarnation, Sequence uint64
	At                    int64 // the interval's end on the reader's clock, µs
	Interval              int64 // µs
	Term, LastGrant       uint64
	Rows                  []Row
	Votes                 []Vote // all that stand
	Probes                []ProbeResult
	Sheds                 []Shed
	Spent                 []SpentQuota // all that pause
}

// Row counts what ended at one endpoint in one class for one workload since the last
// report. InFlight and the tokens are gauges.
type Row struct {
	Endpoint string
	Identity uint64
	Class    breaker.Class
	Workload string

	Admitted, AdmitFailed  uint64
	Finished, FinishFailed uint64
	Slow                   uint64 // of admits: above ttft_limit + 3κ·input
	Limited                uint64 // 429 and the like: no failures
	Excluded               uint64 // no samples: caller's, cancelled, filtered
	Invalid                uint64 // refused by a validator: no failures

	InFlight            uint64
	PendingPromptTokens uint64
	OutstandingTokens   uint64
	TTFT                []Bucket // window.Histogram's layout; merging is addition
	Cost                money.Nano

	// Of those served whose tokens are known: how long these would take at speed 1, by the same
	// measure for every endpoint, and how long they took. In rows of class Any alone.
	WorkUS, BusyUS uint64
	// Of the same, but the first of a cold endpoint: how long their first tokens took, or what
	// stands for them, and how long their inputs explain.
	WaitedUS, ExplainedUS uint64
}

// Bucket is one cell of a histogram.
type Bucket struct {
	Index uint32
	Count uint64
}

// Shed counts the calls of one workload that were refused for one reason since the last report.
type Shed struct {
	Workload string
	Kind     ShedKind
	Count    uint64
}

// SpentQuota is a quota that pauses after its provider's 429s. An endpoint's own has the
// endpoint's name.
type SpentQuota struct {
	Quota string
	Until int64 // on the reader's clock, µs
}

// Vote is a local breaker that stands open.
type Vote struct {
	Endpoint string
	Identity uint64
	Class    breaker.Class
	Phase    breaker.Phase
	Round    uint64 // the fleet's round that this leaf saw
	Soft     bool
	Reason   string
}

// ProbeOutcome says how a permit was used.
type ProbeOutcome uint8

// The probe outcomes.
const (
	ProbeUnused ProbeOutcome = iota + 1
	ProbeStarted
	ProbeGood
	ProbeBad
)

// ProbeResult is the news of one permit.
type ProbeResult struct {
	Permit   uint64
	Endpoint string
	Identity uint64
	Class    breaker.Class
	Round    uint64
	Outcome  ProbeOutcome
}
