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
	BaseURL    string // empty: not known yet, as for many instances
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
	Breaker         breaker.Policy
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
	Attempts        Attempts
	Whole           bool // hold a stream to its end, so that a cut can be answered elsewhere
	FilterElsewhere bool // a content filter's refusal is tried elsewhere
}

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
	strategies
)

var strategyNames = [strategies]string{"none", "p2c", "least_loaded", "weighted"}

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
	Name        string
	Workloads   []string // "*": all
	Regions     []string // none: any; narrows every contract
	Compliance  []string
	Concurrency int64 // Absent: no cap
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
