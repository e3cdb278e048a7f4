package route

import "github.com/pointsman/pointsman/clientlib/route/breaker"

// state is what refuses at an endpoint whatever is asked of it, and what wants a closer
// look: all that a pick reads of most endpoints. The lowest bits are by class.
type state uint32

const (
	stateHard    = breaker.Classes     // from here: refused by a breaker, and not by latency alone
	stateRamping = 2 * breaker.Classes // from here: its share is still growing

	stateDrained state = 1 << (3*breaker.Classes + iota)
	stateRetired       // by date, or the provider says that it is gone
	stateCredential
	stateForced  // open, by an operator
	stateLimited // something may be used up
	stateShut    = stateDrained | stateRetired | stateCredential | stateForced
)

// refusing is the bits that make an endpoint ineligible for requests of some classes; in a
// panic those of latency do not.
func refusing(classes breaker.ClassSet, panic bool) state {
	if panic {
		return stateShut | state(classes)<<stateHard
	}
	return stateShut | state(classes)
}

// reason names the first bit that refuses, or Pass.
func (s state) reason() Reason {
	switch {
	case s == 0:
		return Pass
	case s&stateDrained != 0:
		return ReasonDrained
	case s&stateRetired != 0:
		return ReasonRetired
	case s&stateCredential != 0:
		return ReasonCredential
	}
	return ReasonBreakerOpen
}

// shareUnit is a share of 1: shares are integers, so that their sums need no order.
const shareUnit = 1024

// look is an endpoint's state and share now, without its ramp, and when time alone may
// change them.
func (l *learned) look(now int64) (s state, share, until int64) {
	o, e := &l.facts.orders, l.facts.endpoint
	until = forever
	s = lasts(now, o.drained, stateDrained, &until) | lasts(now, l.outUntil, stateRetired, &until) |
		lasts(now, l.credential.until, stateCredential, &until)
	if at := l.facts.retiresAt; now >= at {
		s |= stateRetired
	} else {
		until = min(until, at)
	}
	if e.Concurrency != Absent || l.limited(now, &until) {
		s |= stateLimited
	}
	lasts(now, o.forcedTo, 0, &until)
	switch o.force(now) {
	case ForcedOpen:
		s |= stateForced
	case NotForced:
		s |= l.trips()
	}
	s |= l.ramping(now, &until)
	if share = l.share(now, &until); share == 0 {
		s |= stateDrained
	}
	return s, share, until
}

// lasts is a bit as long as its time has not come.
func lasts(now, to int64, bit state, until *int64) state {
	if now >= to {
		return 0
	}
	*until = min(*until, to)
	return bit
}

// trips is what the two breakers refuse, by class.
func (l *learned) trips() (s state) {
	fleet := l.heldBy(allClasses)
	for c := range breaker.Classes {
		bit := breaker.ClassSet(1) << c
		own, soft := l.breaker.Refuses(bit)
		if own || fleet&bit != 0 {
			s |= state(bit)
		}
		if own && !soft || fleet&bit != 0 && l.word.soft&bit == 0 {
			s |= state(bit) << stateHard
		}
	}
	return s
}

// ramping is the classes whose share is still growing.
func (l *learned) ramping(now int64, until *int64) (s state) {
	if l.word == nil {
		return 0
	}
	for c := range breaker.Classes {
		if l.word.ramping&(1<<c) != 0 {
			s |= lasts(now, l.word.ramp[c].end(), 1<<(stateRamping+c), until)
		}
	}
	return s
}

// share is how often the endpoint is drawn, in units of 1/1024.
func (l *learned) share(now int64, until *int64) int64 {
	e, o := l.facts.endpoint, &l.facts.orders
	if lasts(now, o.weightTo, 1, until) != 0 {
		return o.weight * shareUnit
	}
	if e.Weight != Absent {
		return e.Weight * shareUnit
	}
	if l.word != nil && l.word.speed > 0 && now < l.word.at+speedHeld {
		*until = min(*until, l.word.at+speedHeld)
		return int64(float64(100*shareUnit*l.word.speed) + 0.5)
	}
	return 100 * shareUnit
}

// states are what the snapshot's endpoints stand at, by place.
type states struct {
	bits    []state
	shares  []int64
	movesAt int64  // when time alone may change one
	changes uint64 // grows when one changed
}

// touch brings one endpoint's state up to date.
func (r *Router) touch(now int64, l *learned) {
	if l.leftAt > 0 || int(l.place) >= len(r.states.bits) {
		return
	}
	s, share, until := l.look(now)
	r.states.set(l.place, s, share, until)
}

func (st *states) set(place int32, s state, share, until int64) {
	st.movesAt = min(st.movesAt, until)
	if st.bits[place] != s || st.shares[place] != share {
		st.bits[place], st.shares[place] = s, share
		st.changes++
	}
}

// pass looks at all endpoints again when time may have changed one.
func (r *Router) pass(now int64) {
	if now < r.states.movesAt {
		return
	}
	r.states.movesAt = forever
	for _, l := range r.current {
		r.touch(now, l)
	}
}
