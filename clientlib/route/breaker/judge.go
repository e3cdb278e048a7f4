package breaker

import "fmt"

// rule is what opened a key.
type rule uint8

const (
	none       rule = iota
	inARow          // hard failures in a row
	tooMany         // failed, of a window
	tooLate         // late, of a window
	tooInvalid      // refused by a validator, of a window
	badProbe        // of a soft trip
	inherited       // a fleet opening that expired for lack of news
)

// cause is a rule with the numbers that met it.
type cause struct {
	rule   rule
	slow   bool // of the slow window
	bad, n int64
}

func (c cause) String() string {
	switch c.rule {
	case inARow:
		return fmt.Sprintf("%d failures in a row", c.bad)
	case tooMany:
		return fmt.Sprintf("%d of %d failed", c.bad, c.n)
	case tooLate:
		return fmt.Sprintf("%d of %d above ttft_limit", c.bad, c.n)
	case tooInvalid:
		return fmt.Sprintf("%d of %d invalid", c.bad, c.n)
	case badProbe:
		return "a probe failed"
	case inherited:
		return "no news of the fleet's opening"
	}
	return ""
}

// at names a key.
type at struct {
	class Class
	phase Phase
}

// judge opens what the latest evidence of these classes explains, the widest first: when
// Any opens, the rest is moot.
func (b *Breaker) judge(now int64, draw uint32, classes ClassSet, p Phase) ClassSet {
	var causes [Classes]cause
	var opened ClassSet
	for c := range Classes {
		if !classes.Has(c) {
			continue
		}
		found := b.crossing(now, at{c, p})
		if found.rule == none {
			continue
		}
		narrow := b.narrowest(now, at{c, p}, found)
		causes[narrow] = found
		opened |= narrow.Set()
		if narrow == Any {
			break
		}
	}
	for c := range Classes {
		if opened.Has(c) {
			b.open(now, draw, at{c, p}, causes[c])
		}
	}
	return opened
}

// crossing is the first rule that a key's evidence meets: a hard one unless it is open
// hard already, a soft one only while it is closed.
func (b *Breaker) crossing(now int64, a at) cause {
	k := b.trip(a)
	if k.open && !k.soft {
		return cause{}
	}
	if c := b.failing(now, a); c.rule != none {
		return c
	}
	if a.phase == Admit && !k.open && b.policy.TTFTLimit > 0 {
		return b.over(a, cause{rule: tooLate})
	}
	return cause{}
}

// failing is the first hard rule that a key's evidence meets.
func (b *Breaker) failing(now int64, a at) cause {
	if run := b.run(now, a); b.policy.Consecutive > 0 && run >= b.policy.Consecutive {
		return cause{rule: inARow, slow: true, bad: run}
	}
	return b.over(a, cause{rule: ruleOf(track(a.phase))})
}

// harden counts a result that is older than a soft trip for that trip alone, and makes it
// a hard one when the rules for failures say so: what hangs is late first, and fails later.
func (b *Breaker) harden(now int64, draw uint32, s Sample) ClassSet {
	if b.hard&s.Classes != 0 {
		return 0 // that explains it
	}
	for a, k := range b.tripped(s.Classes) {
		if a.phase != s.Phase || s.Round < k.before {
			continue
		}
		b.count(now, a, !s.Failed)
		if c := b.failing(now, a); c.rule != none {
			b.open(now, draw, a, c)
			return a.class.Set()
		}
	}
	return 0
}

// ruleOf is the one that a track's windows are judged by.
func ruleOf(t track) rule {
	switch t {
	case paces:
		return tooLate
	case track(Quality):
		return tooInvalid
	}
	return tooMany
}

// over judges both windows by one rule.
func (b *Breaker) over(a at, c cause) cause {
	for _, c.slow = range [...]bool{false, true} {
		c.bad, c.n = b.counts(a, c)
		if c.n >= b.policy.MinSamples && b.crosses(c.rule, c.bad, c.n) {
			return c
		}
	}
	return cause{}
}

// limit is the part of samples that a rule tolerates.
func (b *Breaker) limit(r rule) float64 {
	if r == tooLate {
		return LateLimit
	}
	return b.policy.FailureRatio
}

func (b *Breaker) crosses(r rule, bad, n int64) bool {
	if r == tooLate {
		return float64(bad) > LateLimit*float64(n)
	}
	return bad > 0 && float64(bad) >= b.policy.FailureRatio*float64(n)
}

// narrowest is the class with the fewest samples that explains why a wider one crossed:
// it is bad itself, and outside it the endpoint is known to be well. Else the wide one.
func (b *Breaker) narrowest(now int64, wide at, c cause) Class {
	best := wide.class
	_, fewest := b.counts(wide, c)
	for d := Stream; d < Classes; d++ {
		if d == wide.class {
			continue
		}
		if n, ok := b.explains(now, at{d, wide.phase}, c); ok && n <= fewest {
			best, fewest = d, n
		}
	}
	return best
}

// explains tells whether the failures are of this class alone, and how many samples it has.
func (b *Breaker) explains(now int64, a at, c cause) (n int64, ok bool) {
	bad, n := b.counts(a, c)
	allBad, all := b.counts(at{Any, a.phase}, c)
	if c.rule == inARow && b.run(now, a) < c.bad {
		return n, false
	}
	outside, outsideBad := all-n, allBad-bad
	well := outside >= max(b.policy.MinSamples/2, 1) && float64(outsideBad) <= b.limit(c.rule)/2*float64(outside)
	return n, well && b.crosses(c.rule, bad, n)
}

// counts reads the window that the cause was found in.
func (b *Breaker) counts(a at, c cause) (bad, n int64) {
	t, w := track(a.phase), &b.evidence.windows[fast]
	if c.rule == tooLate {
		t = paces
	}
	if c.slow {
		w = &b.evidence.windows[slow]
	}
	bad = int64(w.sums.bad[t][a.class])
	return bad, bad + int64(w.sums.ok[t][a.class])
}
