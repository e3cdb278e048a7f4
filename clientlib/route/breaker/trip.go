package breaker

import "math/bits"

const (
	minute    = 60_000_000
	mostSteps = 32
	goodToEnd = 2          // good probes that close
	lostAfter = 10_000_000 // a probe, where no ttft_limit is set
)

// trip is a key's state. It is half-open once now reaches until.
type trip struct {
	open    bool
	soft    bool
	before  uint64 // what since was: a soft trip hears results from then on
	cause   cause
	word    uint64 // the fleet's round when it opened
	until   int64
	probe   uint64 // round of the probe under way; 0: none
	probeBy int64  // then it counts as lost
	good    int    // good probes in a row
	steps   int    // how often the cooldown has doubled, plus one
	healthy int64  // since when it is closed
}

func (k *trip) probedBy(round uint64) bool { return k.open && k.probe == round && round != 0 }

// open opens a key, or opens it again. Its end only moves later.
func (b *Breaker) open(now int64, draw uint32, a at, c cause) {
	k := &b.lane(a.class).trips[a.phase]
	if !k.open {
		k.before = b.since[a.class][a.phase]
		k.steps = int(max(int64(k.steps)-(now-k.healthy)/minute, 0))
	}
	if !k.open || now >= k.until {
		k.steps = min(k.steps+1, mostSteps)
	}
	k.open, k.soft, k.cause = true, c.rule == tooLate, c
	k.word, k.probe, k.good = b.word, 0, 0
	k.until = max(k.until, now+jittered(b.policy.CooldownAt(k.steps), draw))
	b.restart(a)
	b.mark()
}

// restart makes older results move nothing, and keeps what opened a narrow class from
// opening a wider one.
func (b *Breaker) restart(a at) {
	b.flush()
	b.round++
	for c := range Classes {
		other := at{c, a.phase}
		switch {
		case c == a.class:
		case a.class == Any:
			b.renew(other)
		case c == Any:
			b.evidence.exclude(a.phase, a.class)
			b.endRun(other)
		default:
			b.forget(other)
		}
	}
	b.renew(a)
}

// renew starts a key's evidence afresh in the present round.
func (b *Breaker) renew(a at) {
	b.flush()
	b.settled, b.since[a.class][a.phase] = b.round, b.round
	b.forget(a)
}

func (b *Breaker) close(now int64, a at) {
	k := &b.lanes[a.class].trips[a.phase]
	k.open, k.probe, k.good, k.healthy = false, 0, 0, now
	b.round++
	b.renew(a)
	b.mark()
}

// mark sums the keys up for Refuses.
func (b *Breaker) mark() {
	b.refused, b.hard = 0, 0
	for a, k := range b.tripped(covered(Any)) {
		b.refused |= a.class.Set()
		if !k.soft {
			b.hard |= a.class.Set()
		}
	}
}

// CooldownAt is the cooldown of a step, from 1; it doubles with each, up to the policy's most.
func (p *Policy) CooldownAt(step int) int64 {
	d := min(p.Cooldown, p.CooldownMax)
	for range step - 1 {
		if d > p.CooldownMax/2 {
			return p.CooldownMax
		}
		d *= 2
	}
	return d
}

// jittered is d × U(1, 1.5).
func jittered(d int64, draw uint32) int64 { return d + part(d/2, draw) }

// part is d × draw ÷ 2^32.
func part(d int64, draw uint32) int64 {
	hi, lo := bits.Mul64(uint64(max(d, 0)), uint64(draw))
	return int64(hi<<32 | lo>>32)
}
