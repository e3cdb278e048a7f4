// Package measure is what a run finds: counts, times and money, whole and by workload, tenant
// and endpoint; how runs compare; and what may be asserted of them. It is pure.
package measure

import "github.com/pointsman/pointsman/clientlib/route/money"

// Result is one run: one policy, one seed, one set of variables.
type Result struct {
	Policy   string
	Seed     uint64
	Warmup   int64 // µs; what came before is in the bins only
	Duration int64 // µs until the end of arrivals
	All      Measures
	By       struct{ Workloads, Tenants, Endpoints []Named }
	Bins     []Bin  // the run in equal parts of time, the last ones after the end of arrivals
	Turns    []Turn // of the fleet's breakers
	Faults   []Fault
	Limits   Limits
	Events   int64 // that were simulated
}

// Named is a part of the whole.
type Named struct {
	Name string
	Measures
}

// Measures are of the calls that came after the warm-up; violations also of those before.
// Tokens and times are of the calls served. A part by endpoint counts attempts.
type Measures struct {
	Counts
	Tokens
	Alone int64 // µs: what the calls served would have taken to their first tokens with nobody else there; 0: not known
	Cost  money.Nano

	TTFT  Times // since the scheduled arrival, of calls served
	Total Times
	Queue Times // from arrival to the last attempt's sending
	Each  Times // µs a token of the output, after the first
}

// Counts are how many there were, and how they ended.
type Counts struct {
	Calls      int64            `json:"calls"`
	Served     int64            `json:"served"`
	Sheds      map[string]int64 `json:"sheds"`      // by kind
	Failures   map[string]int64 `json:"failures"`   // by outcome
	Late       int64            `json:"late"`       // not served by their deadline, or their callers left
	Retries    int64            `json:"retries"`    // attempts beyond calls
	Invalid    int64            `json:"invalid"`    // answers that a validator refused, delivered or not
	Wrong      int64            `json:"wrong"`      // invalid answers that were delivered
	Violations int64            `json:"violations"` // attempts that reached an endpoint that lacks a capability or whose tenant may not
}

// Tokens are those of prompts and answers.
type Tokens struct {
	Input  int64 `json:"input_tokens"`
	Cached int64 `json:"cached_tokens"` // of the input
	Output int64 `json:"output_tokens"`
}

func (t *Tokens) add(o Tokens) {
	t.Input += o.Input
	t.Cached += o.Cached
	t.Output += o.Output
}

// Bin is a part of the run's time, the warm-up too. Calls are in that of their arrival,
// attempts in that of their sending.
type Bin struct {
	From     int64 // µs
	Calls    int64
	Served   int64
	Failed   int64   // sheds too
	P99      int64   // of times to first token, µs
	Attempts []int64 // by endpoint, in order of names
}

// Turn is a change of a fleet breaker, or of a client's own.
type Turn struct {
	At       int64
	Endpoint string
	Kind     string // opened, half_opened, ramping, closed
	Client   int32  // whose own; -1: the fleet's
	Evidence string
}

// Fault is how the fleet met one.
type Fault struct {
	Name      string
	From, To  int64
	Endpoints []string
	Avoided   int64 // µs from its beginning until all clients refused all of its endpoints; -1: never
	Failed    int64 // attempts that were sent there until then, whenever they failed
	Returned  int64 // µs from its end until its endpoints had half of their usual share again; -1: never
}

// Limits are what no policy can beat, or none that decides at once. µs; 0: not computed.
type Limits struct {
	ZeroTTFT   float64 // mean, nobody else asking, at the fastest endpoint
	PooledTTFT float64 // mean, one server with everyone's speed that takes the shortest first
	HitRate    float64 // of the prompts' tokens, if one cache had all that came before
}
