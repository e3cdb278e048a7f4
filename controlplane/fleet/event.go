package fleet

import "github.com/pointsman/pointsman/clientlib/route/breaker"

const mostEvents = 4096 // the oldest go first

// Kind is what happened to a breaker.
type Kind uint8

// The kinds of events.
const (
	Opened Kind = iota + 1
	HalfOpened
	Ramping
	Closed
	Limited  // an endpoint, a quota or a workload's calls, for five minutes on end
	Spilling // more than a fifth of a workload goes to lower tiers, for five minutes on end
)

func (k Kind) String() string {
	switch k {
	case Opened:
		return "opened"
	case HalfOpened:
		return "half-opened"
	case Ramping:
		return "ramping"
	case Closed:
		return "closed"
	case Limited:
		return "limited"
	case Spilling:
		return "spilling"
	}
	return "unknown"
}

// Event is one change of a breaker, or what has gone on for long, with its evidence.
type Event struct {
	At       int64
	Kind     Kind
	Endpoint string // empty: it is about Name
	Identity uint64
	Name     string // of a quota or workload
	Class    breaker.Class
	Locality string // empty: everywhere
	Round    uint64
	Soft     bool
	Evidence string
}

// Events drains what happened, oldest first.
func (f *Fleet) Events() []Event {
	out := f.events
	f.events = nil
	return out
}

// tell adds an event: a kind and its evidence, of one word.
func (f *Fleet) tell(now int64, e *endpoint, w *word, v Event) {
	v.At, v.Endpoint, v.Identity = now, e.spec.Name, e.spec.Identity
	v.Class, v.Locality, v.Round, v.Soft = w.class, w.locality, w.round, w.soft
	f.add(v)
}

func (f *Fleet) add(v Event) {
	if len(f.events) >= mostEvents {
		f.events = append(f.events[:0], f.events[1:]...)
	}
	f.events = append(f.events, v)
}
