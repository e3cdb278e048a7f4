package route

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

// What a Fail step's error is, by errors.Is.
var (
	ErrShed            = errors.New("shed")
	ErrEnded           = errors.New("no further attempt")
	ErrUnknownWorkload = errors.New("unknown workload")
	ErrUnusable        = errors.New("unusable workload")
	ErrRequest         = errors.New("bad request")
)

// ShedKind says what stood in the way.
type ShedKind uint8

// The kinds of shed.
const (
	ShedIncompatible ShedKind = iota // nothing could ever serve it
	ShedOpen
	ShedLimited
	ShedFull
	ShedTenant    // the tenant may not
	ShedTenantCap // the tenant is at its cap
	shedKinds
)

var shedNames = [shedKinds]string{"none compatible", "all open", "all limited", "all full", "tenant not allowed", "tenant at its cap"}

func (k ShedKind) String() string {
	if k < shedKinds {
		return shedNames[k]
	}
	return "unknown"
}

// ShedError says that no endpoint could take a request. It is an ErrShed.
type ShedError struct {
	Workload string
	Kind     ShedKind
	Counts   [Reasons]int // of the workload's endpoints, by reason
	Examples []ShedExample
	RetryAt  int64 // µs; 0: not known
}

// ShedExample is one endpoint that was left out. There are at most eight.
type ShedExample struct {
	Endpoint string
	Reason   Reason
}

// Error counts by reason, most first.
func (e *ShedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "workload %q: shed: %s", e.Workload, e.Kind)
	separator := ": "
	for _, reason := range e.byCount() {
		fmt.Fprintf(&b, "%s%d %s", separator, e.Counts[reason], reason)
		separator = ", "
	}
	return b.String()
}

func (e *ShedError) byCount() []Reason {
	var all []Reason
	for reason := range Reasons {
		if e.Counts[reason] > 0 {
			all = append(all, reason)
		}
	}
	slices.SortStableFunc(all, func(a, b Reason) int { return e.Counts[b] - e.Counts[a] })
	return all
}

// Is makes errors.Is(err, ErrShed) hold.
func (e *ShedError) Is(err error) bool { return err == ErrShed }

// End says why a call gets no further attempt.
type End uint8

// The ends.
const (
	EndDone     End = iota // served, or not an endpoint's fault: what Last says is the answer
	EndContent             // part of an answer reached the caller
	EndAttempts            // as many as the workload allows
	EndBudget              // no retry token
	EndDeadline            // too little time left
	EndNoOther             // no other endpoint: Shed says why
	ends
)

var endNames = [ends]string{"done", "part of the answer was delivered", "no attempt left", "no retry token left", "no time left", "no other endpoint"}

func (e End) String() string {
	if e < ends {
		return endNames[e]
	}
	return "unknown"
}

// EndError says that a call that had attempts gets no further one. It is an ErrEnded.
type EndError struct {
	Workload string
	Why      End
	Attempts int
	Last     Outcome
	Shed     *ShedError // with EndNoOther
}

func (e *EndError) Error() string {
	s := fmt.Sprintf("workload %q: %s after %d attempts", e.Workload, e.Why, e.Attempts)
	if e.Attempts > 0 {
		s += ": last " + e.Last.Kind.String()
	}
	if e.Last.Detail != "" {
		s += ": " + e.Last.Detail
	}
	return s
}

// Is makes errors.Is(err, ErrEnded) hold.
func (e *EndError) Is(err error) bool { return err == ErrEnded }

const (
	maxExamples = 8
	soon        = second // when it is not known when to try again
)

// explainShed says what stood in the way of each endpoint.
func (r *Router) explainShed(now int64, p *pool, c *Call) *ShedError {
	e := &ShedError{Workload: c.workload}
	for _, l := range p.left {
		e.add(l.endpoint, l.reason)
	}
	for _, place := range p.places {
		reason := r.gate(now, p, place, c)
		e.add(r.current[place].name, reason)
		if at := r.retryAt(now, p, place, reason); at > 0 && (e.RetryAt == 0 || at < e.RetryAt) {
			e.RetryAt = at
		}
	}
	e.Kind = e.kind()
	return e
}

// forbid is the shed of a tenant that may not use the workload.
func (s *static) forbid(w *workload) *ShedError {
	e := &ShedError{Workload: w.spec.Name, Kind: ShedTenant}
	for _, tier := range w.tiers {
		for _, at := range tier {
			e.add(s.facts[at].endpoint.Name, ReasonTenant)
		}
	}
	return e
}

func (e *ShedError) add(endpoint string, reason Reason) {
	e.Counts[reason]++
	if len(e.Examples) < maxExamples {
		e.Examples = append(e.Examples, ShedExample{endpoint, reason})
	}
}

// kind is what would end first: what is only limited or full counts before what is open.
func (e *ShedError) kind() ShedKind {
	switch {
	case e.Counts[ReasonTenantCap] > 0 || e.Counts[ReasonBudget] > 0:
		return ShedTenantCap
	case e.Counts[ReasonQuotaCooldown]+e.Counts[ReasonQuotaRequests]+e.Counts[ReasonQuotaTokens] > 0:
		return ShedLimited
	case e.Counts[ReasonConcurrency] > 0:
		return ShedFull
	case e.Counts[ReasonBreakerOpen] > 0 || e.Counts[ReasonTooSlow] > 0:
		return ShedOpen
	}
	return ShedIncompatible
}

// retryAt is when a gate may give another answer; 0: not by time.
func (r *Router) retryAt(now int64, p *pool, place int32, reason Reason) int64 {
	at, l := now+soon, r.current[place]
	switch reason {
	case ReasonBreakerOpen:
		at = l.opensUntil(now, p.ask.classes)
	case ReasonQuotaCooldown, ReasonQuotaRequests, ReasonQuotaTokens:
		at = r.roomAt(now, l)
	case ReasonTenantCap, ReasonBudget:
		at = r.need.tenantAt(now, reason)
	case ReasonCredential:
		at = l.credential.until
	case ReasonRetired:
		at = l.outUntil
	case ReasonTooSlow:
		at = r.measured(p.work, place).at + staleLatency
	case ReasonDrained:
		at = l.facts.orders.drainedTo(now)
	case ReasonConcurrency:
	default:
		return 0
	}
	if at == forever || at == 0 {
		return 0
	}
	return max(at, now+1)
}

// opensUntil is when the last of the words that refuse may end; what waits for a probe may
// end any time.
func (l *learned) opensUntil(now int64, classes breaker.ClassSet) int64 {
	if l.facts.orders.force(now) == ForcedOpen {
		return l.facts.orders.forcedTo
	}
	at := max(l.breaker.Until(classes), l.probeFrom)
	for c := range breaker.Classes {
		if l.heldBy(classes&(1<<c)) != 0 {
			at = max(at, l.word.until[c])
		}
	}
	if at <= now {
		return now + soon
	}
	return at
}
