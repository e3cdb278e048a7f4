package hub

// EventKind says what changed.
type EventKind uint8

// The kinds of events; from Refused on they are bad news.
const (
	Joined  EventKind = iota + 1 // a child said hello
	Left                         // its stream ended
	Refused                      // streams were turned away
	Nacked                       // a child refused a state
	Behind                       // a child holds more than is known here
	Dropped                      // reports or states of leaves were more than a bound allows
)

// String names the kind.
func (k EventKind) String() string {
	names := [...]string{"", "joined", "left", "refused", "nacked", "behind", "dropped"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Event is one change of state, for the log.
type Event struct {
	Kind   EventKind
	Child  string // the name in its hello; empty: none in particular
	Sort   string // leaf, or what a relay calls itself: agent, replica
	Detail string
}

// Bad says whether somebody should look into it.
func (e Event) Bad() bool { return e.Kind >= Refused }
