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

// ProbeDue tells whether Probe would give one.
func (b *Breaker) ProbeDue(now int64, classes ClassSet) bool {
	return b.refused&classes != 0 && b.held&classes == 0 && now >= b.Until(classes)
}

// Probe takes the one probe of all trips that refuse these classes, when every one has
// cooled down, has no probe under way, and the fleet holds none of the classes. The
// attempt carries the round; samples of that round judge the trips. Give it back with
// Return when the attempt ends. A lost one expires at ttft_limit.
func (b *Breaker) Probe(now int64, classes ClassSet) (round uint64, ok bool) {
	if !b.ProbeDue(now, classes) {
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
// such a sample counts nowhere else.
func (b *Breaker) judgeProbe(now int64, draw uint32, s Sample, ch *Change) (judged bool) {
	for a, k := range b.tripped(s.Classes) {
		if !k.probedBy(s.Round) || !s.judges(a.phase) {
			continue
		}
		judged = true
		if s.Failed || k.soft && s.Pace == Late {
			b.open(now, draw, a, s.badProbe(k))
			ch.Opened |= a.class.Set()
			continue
		}
		k.probe = 0
		if k.good++; k.good >= goodToEnd {
			b.close(now, a)
			ch.Closed |= a.class.Set()
		}
	}
	return judged
}

// judges tells whether a probe's sample is a verdict on what opened a phase. A failure is
// one in either half; what a validator says, and what it never saw, are two things.
func (s *Sample) judges(p Phase) bool {
	return s.Phase == p || s.Failed && s.Phase < Quality && p < Quality
}

// badProbe is why a trip opens again: what opened it, unless that was less than a failure.
func (s *Sample) badProbe(k *trip) cause {
	if k.soft && s.Failed {
		return cause{rule: badProbe}
	}
	return k.cause
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
func (b *Breaker) tripped(classes ClassSet) iter.Seq2[at, *trip] {
	return func(yield func(at, *trip) bool) {
		for c, l := range b.lanes {
			if l == nil || !classes.Has(Class(c)) {
				continue
			}
			for p := range l.trips {
				if l.trips[p].open && !yield(at{Class(c), Phase(p)}, &l.trips[p]) {
					return
				}
			}
		}
	}
}
