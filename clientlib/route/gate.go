package route

import "github.com/pointsman/pointsman/clientlib/route/breaker"

// Reason is a gate's answer for one endpoint: why not, or Pass. Its values are stable.
type Reason uint8

// The reasons.
const (
	Pass Reason = iota
	ReasonCapability
	ReasonAPI
	ReasonContextWindow
	ReasonOutputCap
	ReasonArtifact
	ReasonRegion
	ReasonCompliance
	ReasonRetired // the provider says that it is gone
	ReasonTenant
	ReasonUnsupported
	ReasonAdapter
	ReasonExcluded // tried by this call
	ReasonDrained
	ReasonBreakerOpen
	ReasonTooSlow
	ReasonCredential
	ReasonQuotaRequests
	ReasonQuotaTokens
	ReasonQuotaCooldown
	ReasonConcurrency
	ReasonTenantCap
	ReasonBudget
	Reasons
)

var reasonNames = [Reasons]string{
	"pass", "capability", "api", "context_window", "output_cap", "artifact", "region",
	"compliance", "retired", "tenant", "unsupported", "adapter", "excluded", "drained",
	"breaker_open", "too_slow", "credential", "quota_requests", "quota_tokens",
	"quota_cooldown", "concurrency", "tenant_cap", "budget",
}

func (r Reason) String() string {
	if r < Reasons {
		return reasonNames[r]
	}
	return "unknown"
}

// allows is the contract's answer, before any request and for any tenant.
func (w *workload) allows(f *facts) Reason { return w.admits(f, &ask{apis: w.apis}, nil) }

// admits is every gate that neither time nor load moves: the contract, what is asked, and
// what the tenant may (nil: no tenant narrows it). A gate that cannot decide refuses.
func (w *workload) admits(f *facts, a *ask, t *tenant) Reason {
	e, c := f.endpoint, &w.spec.Contract
	switch {
	case !w.requires.or(a.needs).in(f.capabilities):
		return ReasonCapability
	case !a.apis.meets(f.apis):
		return ReasonAPI
	case e.ContextWindow == 0 && e.Model != "", e.ContextWindow > 0 && e.ContextWindow < max(c.NeedsContext, a.window):
		return ReasonContextWindow
	case e.MaxOutputTokens > 0 && e.MaxOutputTokens < max(c.NeedsOutputTokens, a.output):
		return ReasonOutputCap
	case e.Artifact == "" && e.Model != "":
		return ReasonArtifact // not known what it serves
	case !covers(c.Regions, e.Region) || t != nil && !covers(t.spec.Regions, e.Region):
		return ReasonRegion
	case !w.compliance.in(f.compliance) || t != nil && !t.compliance.in(f.compliance):
		return ReasonCompliance
	}
	return f.usable
}

// heldBy are those of the classes that the fleet's word refuses.
func (l *learned) heldBy(classes breaker.ClassSet) breaker.ClassSet {
	if l.word == nil {
		return 0
	}
	return l.word.held &^ l.lost & classes
}

// unhindered tells at a first look that a place passes every gate and is taken whenever it is
// drawn: nothing that could keep it out is there at all. Most draws need no other look.
func (r *Router) unhindered(now int64, p *pool, place int32, c *Call) bool {
	if !p.even || !r.need.plain || c.excluded > 0 {
		return false
	}
	bits, l := r.states.bits[place], r.current[place]
	if bits&(p.mask|state(allClasses)<<stateRamping) != 0 {
		return false
	}
	return bits&stateLimited == 0 || l.solo != nil && l.solo.common.Idle(now) &&
		(l.most == Absent || float64(l.inFlight)+l.others < float64(l.most)) // of others there are no more than were counted
}

// gate is every gate that time, load or the call itself moves.
func (r *Router) gate(now int64, p *pool, place int32, c *Call) Reason {
	if reason := r.passes(now, p, place, c); reason != Pass {
		return reason
	}
	return r.pays(now, p, place, c)
}

// passes is all of it but the tenant's budget.
func (r *Router) passes(now int64, p *pool, place int32, c *Call) Reason {
	if c.excluded > 0 && c.triedAt(r.current[place]) {
		return ReasonExcluded
	}
	bits := r.states.bits[place]
	if refused := bits & p.mask; refused != 0 {
		return refused.reason()
	}
	if bits&stateLimited != 0 || p.slowest > 0 {
		if reason := r.limits(now, p, place); reason != Pass {
			return reason
		}
	}
	return r.need.refused
}

// limits is the gates that spill a request and do not take a tier down.
func (r *Router) limits(now int64, p *pool, place int32) Reason {
	l := r.current[place]
	if p.slowest > 0 {
		if a := r.measured(p.work, place); a.n > 0 && now-a.at < staleLatency && a.value > float64(p.slowest) {
			return ReasonTooSlow
		}
	}
	if reason := r.room(now, l); reason != Pass {
		return reason
	}
	if r.need.full(now, l) {
		return ReasonConcurrency
	}
	return Pass
}
