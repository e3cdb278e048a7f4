package breaker

import "iter"

// Until is when a probe of these classes may be taken at the earliest: the latest end of
// the cooldowns and probes under way that refuse it; 0 when none does.
func (b *Breaker) Until(classes ClassSet) (until int64) {
	for _, k := range b.tripped(classes) {
		until = max(until, k.until)
		if k.probe != 0 {
			until = max(until, k.probeBy)
		}
	}
	return until
}

// Probe takes the one probe of all trips that refuse these classes, when every one has
// cooled down, has no probe under way, and the fleet holds none of the classes. The
// attempt carries the round; samples of that round judge the trips. Give it back with
// Return when the attempt ends. A lost one expires at ttft_limit.
func (b *Breaker) Probe(now int64, classes ClassSet) (round uint64, ok bool) {
	if b.refused&classes == 0 || b.held&classes != 0 || now < b.Until(classes) {
		return 0, false
	}
	by := now + lostAfter
	if b.policy.TTFTLimit > 0 {
		by = now + b.policy.TTFTLimit
	}
	round = b.round + 1
	b.round += 2 // so that no other attempt carries the probe's round
	for _, k := range b.tripped(classes) {
		k.probe, k.probeBy = round, by
	}
	return round, true
}

// Return gives back a probe that ended without judging every trip it was for: cancelled,
// excluded, never sent. Once judged, or for a round that is no probe's, it is a no-op.
func (b *Breaker) Return(round uint64) {
	for _, k := range b.tripped(b.refused) {
		if k.probedBy(round) {
			k.probe = 0
		}
	}
}

// judgeProbe judges the trips that the sample's attempt probes, and tells whether it did:
// such a sample counts nowhere else. A failure in either phase is a bad probe.
func (b *Breaker) judgeProbe(now int64, draw uint32, s Sample, ch *Change) (judged bool) {
	for a, k := range b.tripped(s.Classes) {
		if !k.probedBy(s.Round) || !s.Failed && a.phase != s.Phase {
			continue
		}
		judged = true
		if s.Failed || k.soft && s.Pace == Late {
			b.open(now, draw, a, k.cause)
			ch.Opened |= a.class.Set()
			continue
		}
		k.probe = 0
		if k.good++; k.good >= goodToEnd {
			b.close(now, a)
			ch.Closed |= a.class.Set()
		}
	}
	ch.Closed &^= b.refused
	return judged
}

// overdueProbe tells whether the attempt is a probe, and fails it for soft trips.
func (b *Breaker) overdueProbe(now int64, draw uint32, classes ClassSet, round uint64, ch *Change) (probe bool) {
	for a, k := range b.tripped(classes) {
		if !k.probedBy(round) {
			continue
		}
		probe = true
		if k.soft {
			b.open(now, draw, a, k.cause)
			ch.Opened |= a.class.Set()
		}
	}
	return probe
}

// tripped yields the keys that refuse any of these classes.
func (b *Breaker) tripped(classes ClassSet) iter.Seq2[at, *key] {
	return func(yield func(at, *key) bool) {
		for c, l := range b.lanes {
			if l == nil || !classes.Has(Class(c)) {
				continue
			}
			for p := range l.keys {
				if l.keys[p].open && !yield(at{Class(c), Phase(p)}, &l.keys[p]) {
					return
				}
			}
		}
	}
}
