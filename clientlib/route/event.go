package route

import "github.com/pointsman/pointsman/clientlib/route/breaker"

// EventKind says what happened.
type EventKind uint8

// The events.
const (
	EventOpened        EventKind = iota + 1 // a local breaker
	EventClosed                             // a local breaker
	EventCredentialOut                      // refused by the provider; Until says for how long
	EventEndpointOut                        // not there; Until says for how long
	EventCooldown                           // a quota, or an endpoint without one; Until
	EventTierDown
	EventTierUp
	EventPanic    // soft trips are ignored in a pool
	EventCalm     // and judged again
	EventStale    // an attempt marked or settled that had ended
	EventLost     // an attempt swept that nobody settled
	EventDropped  // Count events were not kept
	EventBudget   // a tenant's, of which so much is spent that it is to be warned; Until: it begins anew
	EventLimited  // an endpoint, for five minutes on end
	EventSpilling // more than a fifth of a workload goes to lower tiers, for five minutes on end
	eventKinds
)

var eventNames = [eventKinds]string{
	"none", "opened", "closed", "credential_out", "endpoint_out", "cooldown", "tier_down", "tier_up",
	"panic", "calm", "stale", "lost", "dropped", "budget", "limited", "spilling",
}

func (k EventKind) String() string {
	if k < eventKinds {
		return eventNames[k]
	}
	return "unknown"
}

// Event is one thing worth a log line. Fields that do not apply are zero.
type Event struct {
	Kind     EventKind
	At       int64 // µs
	Endpoint string
	Workload string
	Name     string // of the credential, quota, tier or tenant
	Class    breaker.Class
	Phase    breaker.Phase
	Soft     bool
	Reason   string
	Until    int64 // µs
	Count    int
}

const maxEvents = 256 // kept until they are fetched

func (r *Router) event(e Event) {
	if len(r.events) >= maxEvents {
		r.lost++
		return
	}
	r.events = append(r.events, e)
}

// Events appends what happened since the last call to buf.
func (r *Router) Events(buf []Event) []Event {
	buf = append(buf, r.events...)
	if r.lost > 0 {
		buf = append(buf, Event{Kind: EventDropped, At: r.events[len(r.events)-1].At, Count: r.lost})
	}
	clear(r.events)
	r.events, r.lost = r.events[:0], 0
	return buf
}
