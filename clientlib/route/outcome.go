package route

import "github.com/pointsman/pointsman/clientlib/route/money"

// OutcomeKind says how an attempt ended. Its values are stable.
type OutcomeKind uint8

// The kinds. Zero is abandoned, never served.
const (
	Abandoned    OutcomeKind = iota
	Served                   // to the end
	Faulted                  // 5xx, reset, refused, broken framing, truncated
	TimedOut                 // a limit of the workload's attempts passed
	Limited                  // 429, rate or capacity
	Unauthorized             // 401, 403, out of credit
	Missing                  // model or deployment not found, 410
	TooLong                  // context too long, body too large
	Filtered                 // by a content filter
	Refused                  // other 400, 404, 422
	Cancelled                // by the caller, or by its own shorter deadline
	Invalid                  // refused by a validator
	Unsent                   // failed before anything was sent
	outcomeKinds
)

var outcomeNames = [outcomeKinds]string{
	"abandoned", "served", "faulted", "timed_out", "limited", "unauthorized", "missing",
	"too_long", "filtered", "refused", "cancelled", "invalid", "unsent",
}

func (k OutcomeKind) String() string {
	if k < outcomeKinds {
		return outcomeNames[k]
	}
	return "unknown"
}

// Outcome is what Settle learns of an attempt.
type Outcome struct {
	Kind       OutcomeKind
	HasUsage   bool
	Estimated  bool // the usage is this library's guess: it is charged, and teaches nothing
	Usage      money.Usage
	RetryAfter int64 // µs; 0: none was given
	Status     int   // HTTP or gRPC; 0: none
	Detail     string
}

// Domain says whose doing an outcome is. Its values are stable.
type Domain uint8

// The domains.
const (
	DomainUnknown Domain = iota
	DomainCaller
	DomainTenant
	DomainEndpoint
	DomainAccount
	DomainNetwork
	domains
)

var domainNames = [domains]string{"unknown", "caller", "tenant", "endpoint", "account", "network"}

func (d Domain) String() string {
	if d < domains {
		return domainNames[d]
	}
	return "unknown"
}

// Domain is network when an attempt failed without any status.
func (o Outcome) Domain() Domain {
	switch o.Kind {
	case Faulted:
		return either(o.Status == 0, DomainNetwork, DomainEndpoint)
	case Served, TimedOut, Missing, Invalid:
		return DomainEndpoint
	case Limited, Unauthorized:
		return DomainAccount
	case TooLong, Filtered, Refused, Cancelled, Unsent:
		return DomainCaller
	}
	return DomainUnknown
}

// Domain is whose doing a shed is; its phase is always before dispatch.
func (k ShedKind) Domain() Domain {
	switch k {
	case ShedIncompatible:
		return DomainCaller
	case ShedOpen, ShedFull:
		return DomainEndpoint
	case ShedLimited:
		return DomainAccount
	case ShedTenant, ShedTenantCap:
		return DomainTenant
	}
	return DomainUnknown
}

// Phase says how far an attempt came. Its values are stable.
type Phase uint8

// The phases.
const (
	BeforeDispatch Phase = iota
	BeforeFirstToken
	MidStream
	Complete
	outcomePhases
)

var outcomePhaseNames = [outcomePhases]string{"before_dispatch", "before_first_token", "mid_stream", "complete"}

func (p Phase) String() string {
	if p < outcomePhases {
		return outcomePhaseNames[p]
	}
	return "unknown"
}

// Phase is how far an attempt came that ended so, with or without a first token.
func (k OutcomeKind) Phase(token bool) Phase {
	switch {
	case k == Unsent:
		return BeforeDispatch
	case k == Served, k == Invalid:
		return Complete
	case token:
		return MidStream
	}
	return BeforeFirstToken
}
