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
	}
	return "unknown"
}

// Event is one change of a breaker, with its evidence.
type Event struct {
	At       int64
	Kind     Kind
	Endpoint string
	Identity uint64
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
	if len(f.events) >= mostEvents {
		f.events = append(f.events[:0], f.events[1:]...)
	}
	f.events = append(f.events, v)
}
