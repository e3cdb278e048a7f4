package breaker

// Standing is what the fleet says about one class.
type Standing uint8

// The fleet's words.
const (
	Free    Standing = iota // closed, or none
	Held                    // open or half-open: own half-open waits
	Ramping                 // trips of older rounds clear
	Lost                    // was held, and expired for lack of news
)

// Word is the fleet's word on one class, for this client's locality.
type Word struct {
	Class    Class
	Standing Standing
	Round    uint64 // grows over all classes of an endpoint
}

// Trip is one class and phase that stands open or half-open.
type Trip struct {
	Class  Class
	Phase  Phase
	Soft   bool   // by latency
	Round  uint64 // the fleet's round seen when it opened
	Until  int64  // the cooldown's end
	Reason string // the evidence, for people
	Vote   bool   // own evidence of what the fleet judges; false: of answers, or left over from a fleet that fell silent
}

// Fleet notes the fleet's word on one class; repeating it changes nothing. A newer round
// makes older results move nothing. A held class that is Lost becomes an own half-open
// after up to one cooldown, so that a fleet of clients does not rush back.
func (b *Breaker) Fleet(now int64, draw uint32, w Word) (ch Change) {
	if b.policy == nil {
		return ch
	}
	wasHeld := b.held.Has(w.Class)
	b.held &^= w.Class.Set()
	b.word = max(b.word, w.Round)
	switch w.Standing {
	case Held:
		b.held |= w.Class.Set()
		b.hear(w)
	case Ramping:
		if b.hear(w) {
			b.ramps[w.Class] = b.round
		}
		ch.Closed = b.clear(now, covered(w.Class), w.Round)
	case Free:
		ch.Closed = b.clear(now, w.Class.Set(), 0)
	case Lost:
		if wasHeld {
			b.inherit(now, draw, w.Class)
			ch.Opened = w.Class.Set()
		}
	}
	return ch
}

// Trips appends what stands open, by class and phase.
func (b *Breaker) Trips(buf []Trip) []Trip {
	for a, k := range b.tripped(b.refused) {
		buf = append(buf, Trip{
			Class: a.class, Phase: a.phase, Soft: k.soft, Round: k.word, Until: k.until,
			Reason: k.cause.String(), Vote: a.phase < Phases && k.cause.rule != inherited,
		})
	}
	return buf
}

// hear makes results from before a newer round of the fleet move nothing.
func (b *Breaker) hear(w Word) (news bool) {
	if w.Round <= b.heard[w.Class] {
		return false
	}
	b.heard[w.Class] = w.Round
	b.round++
	for c := range Classes {
		for p := range phases {
			if covered(w.Class).Has(c) {
				b.renew(at{c, p})
			}
		}
	}
	return true
}

// Outdated tells whether an attempt of a round was picked before the fleet's latest ramp
// of one of its classes: what comes of it is no news of what ramps.
func (b *Breaker) Outdated(classes ClassSet, round uint64) bool {
	return round < b.settled && b.outdated(classes, round)
}

func (b *Breaker) outdated(classes ClassSet, round uint64) bool {
	for c := range Classes {
		if round < b.ramps[c] && covered(c)&classes != 0 {
			return true
		}
	}
	return false
}

// clear closes the trips of older rounds of the fleet, and those inherited from it.
func (b *Breaker) clear(now int64, classes ClassSet, round uint64) (closed ClassSet) {
	for a, k := range b.tripped(classes) {
		if k.word < round || k.cause.rule == inherited {
			b.close(now, a)
			closed |= a.class.Set()
		}
	}
	return closed &^ b.refused
}

// inherit takes over an opening that the fleet no longer speaks for.
func (b *Breaker) inherit(now int64, draw uint32, c Class) {
	k := &b.lane(c).trips[Admit]
	if !k.open {
		k.open, k.soft, k.good, k.probe = true, false, 0, 0
		k.cause, k.word = cause{rule: inherited}, b.word
	}
	k.until = max(k.until, now+part(b.policy.Cooldown, draw))
	b.restart(at{c, Admit})
	b.mark()
}

// covered is what a word on c speaks for: Any for every class.
func covered(c Class) ClassSet {
	if c == Any {
		return Classes.Set() - 1
	}
	return c.Set()
}
