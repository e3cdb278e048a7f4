package route

import (
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// Catalog is what operators declared, checked and with every default resolved. An
// explicit zero is a value; what may be absent says so. Names are unique per slice.
type Catalog struct {
	Version   CatalogVersion
	Endpoints []Endpoint
	Workloads []Workload
	Tenants   []Tenant // none declared: one, "default", entitled to all
	Quotas    []Quota
	Overrides []Override
}

// CatalogVersion orders catalogs by (Epoch, Generation). Revision informs.
type CatalogVersion struct {
	StoreID    string
	Epoch      uint64
	Generation uint64
	Revision   uint64
}

// Absent marks a number that was not given, where zero means zero.
const Absent = -1

// Endpoint is a model at a provider, with what its model and provider say folded in.
type Endpoint struct {
	Name       string
	Identity   uint64 // learned state is keyed by it
	Provider   string
	Dialect    string
	BaseURL    string // empty: not known yet
	APIVersion string
	Model      string // empty for a tool's endpoint
	WireModel  string
	Artifact   string

	APIs         []string
	Capabilities []string
	Compliance   []string
	Region       string // a path: eu covers eu/west
	Credential   string // a name
	Quotas       []string

	ContextWindow   int64 // tokens; 0: unlimited, for a tool
	MaxOutputTokens int64
	Price           money.Price
	Weight          int64 // Absent: 100 × learned speed; 0 drains
	Concurrency     int64 // for the whole fleet; Absent: unlimited
	Retires         int64 // µs since 1970, UTC; 0: never
	Capacity        Capacity
	Breaker         breaker.Policy
	Instances       Instances // has some: its own BaseURL is only the form of theirs
	Metrics         string    // what a model server tells its load in: vllm, sglang; empty: nobody reads it
}

// Capacity holds cold values of a self-hosted endpoint; 0: unknown.
type Capacity struct {
	Slots      int64
	PrefillTPS int64 // tokens a second
	TPOT       int64 // µs an output token
}

// Quota is one limit of one account, shared by the endpoints that name it. Limits are a
// minute's; Absent: none.
type Quota struct {
	Name     string
	Requests int64
	Tokens   int64
	Input    int64 // tokens
	Output   int64 // tokens
	Daily    int64 // requests a day
	Fixed    bool  // a window that resets, not a bucket that refills
	Hold     bool  // a process that is cut off keeps what it had
}

// Workload is what callers ask for by name.
type Workload struct {
	Name            string
	Unusable        string // why this library cannot route it; empty: it can
	APIs            []string
	Contract        Contract
	Tiers           []Tier
	Strategy        Strategy
	MoneyPerMS      money.Nano // 0: pure latency
	Bands           []Band     // of cost_tiered, cheapest first
	PreferQuality   bool       // the dearest band that admits a request comes first, not the cheapest
	Affinity        Affinity
	Attempts        Attempts
	Whole           bool // hold a stream to its end, so that a cut can be answered elsewhere
	FilterElsewhere bool // a content filter's refusal is tried elsewhere
	EscalateQuality bool // what a validator refused is tried one band or tier further, once
	EscalateContext bool // what was too long is
}

// Band is models that requests up to a size, as the measure of how complex they are, go to.
type Band struct {
	Name       string
	UptoTokens int64 // input and predicted output; Absent: any
	Models     []string
}

// Affinity keeps requests of one key at one endpoint, their home. A strategy without scores
// goes with rule median alone.
type Affinity struct {
	On    AffinityOn
	Rule  AffinityRule
	Slack float64 // how many times worse than others a home may be
}

// AffinityRule says when a home is left. Its values are stable.
type AffinityRule uint8

// The rules.
const (
	AffinityMedian AffinityRule = iota // slower, or more loaded, than Slack times the tier's median
	AffinityScore                      // its score exceeds Slack times that of the strategy's choice
	affinityRules
)

// AffinityOn says what makes the key, beside tenant and workload. Its values are stable.
type AffinityOn uint8

// The keys.
const (
	AffinityNone AffinityOn = iota
	AffinityPrefix
	AffinitySession
	AffinityTenant
	affinities
)

// Contract is what every endpoint of a workload must meet.
type Contract struct {
	Requires          []string
	NeedsContext      int64
	NeedsOutputTokens int64
	MaxTTFT           int64    // µs; 0: none
	Regions           []string // none: any
	Compliance        []string
}

// Tier is a set of endpoints that balances; tiers fail over in order.
type Tier struct {
	Name      string
	Endpoints []string
}

// Strategy chooses inside a tier. Its values are stable.
type Strategy uint8

// The strategies. Zero is none: a workload that names an unknown one is unusable.
const (
	NoStrategy Strategy = iota
	P2C
	LeastLoaded
	Weighted
	LeastTokens
	WeightedLeastLatency
	LatencyWeighted
	QuotaAware
	RoundRobin
	Hash
	Predictive
	CostTiered
	strategies
)

var strategyNames = [strategies]string{
	"none", "p2c", "least_loaded", "weighted", "least_tokens", "weighted_least_latency", "latency_weighted", "quota_aware", "round_robin", "hash",
	"predictive", "cost_tiered",
}

// Version grows whenever the strategy decides otherwise for the same inputs. Records name it.
func (s Strategy) Version() uint8 { return 1 }

func (s Strategy) String() string {
	if s < strategies {
		return strategyNames[s]
	}
	return "unknown"
}

// Attempts bounds the attempts of one call. Durations are µs.
type Attempts struct {
	Max          int64
	RetryRatio   float64
	RetryReserve int64
	SameEndpoint int64
	Connect      int64
	FirstToken   int64
	Answer       int64
	Stall        int64
	Total        int64
}

// Tenant is whom work is for.
type Tenant struct {
	Name         string
	Workloads    []string // "*": all
	Regions      []string // none: any; narrows every contract
	Compliance   []string
	Priority     Priority
	Caps         Caps
	Budget       Budget
	Reservations []Reservation
}

// Priority decides who is shed first. Its values are stable.
type Priority uint8

// The priorities, highest first.
const (
	PriorityInteractive Priority = iota
	PriorityStandard
	PriorityBatch
	priorities
)

// Caps bound what one tenant takes of all endpoints. Absent: no cap.
type Caps struct {
	Concurrency int64
	Requests    int64 // a minute
	Tokens      int64 // a minute
}

// NoCaps caps nothing.
func NoCaps() Caps { return Caps{Absent, Absent, Absent} }

// Budget bounds what a tenant spends in a day or month, UTC.
type Budget struct {
	Has      bool
	Limit    money.Nano
	PerMonth bool
	Warn     float64 // part of the limit from which an event tells, 0 to 1
	Cheapest bool    // exhausted, the cheapest endpoints serve on; else nothing does
}

// Reservation is a part of a quota that is kept for one tenant. Absent: nothing is.
type Reservation struct {
	Quota    string
	Requests int64 // a minute
	Tokens   int64 // a minute
}

// Override is an operator's word on one endpoint, on top of any revision.
type Override struct {
	Endpoint string
	Drain    bool
	Forced   Forced
	Weight   int64 // Absent: as the catalog says
	Until    int64 // on the caller's clock, µs; 0: until taken back
}

// Forced is a breaker held by an operator.
type Forced uint8

// What an operator may force.
const (
	NotForced Forced = iota
	ForcedOpen
	ForcedClosed
)
