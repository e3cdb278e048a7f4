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
	Usage      money.Usage
	HasUsage   bool
	RetryAfter int64 // µs; 0: none was given
	Status     int   // HTTP or gRPC; 0: none
	Detail     string
}
