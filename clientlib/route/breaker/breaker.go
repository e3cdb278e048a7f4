// Package breaker is a client's own breaker of one endpoint: it decides, from this
// client's evidence alone, which classes of requests the endpoint may get. The fleet's
// word stands beside it and is never merged with it; the gate refuses if either does.
// It keeps no clock and draws nothing: times (µs) and draws come in as arguments.
package breaker

// Breaker judges one endpoint, each class and each phase by itself. The zero Breaker
// refuses nothing and learns nothing until SetPolicy. Not safe for concurrent use, and
// not to be copied once used.
//
//	closed ── evidence crosses ──▶ open ── cooldown over ──▶ half-open: one probe at a time
//	   ▲                            ▲                            │            │
//	   │                            └──────── a bad probe ───────┘            │
//	   └──────────────── two good probes, or the fleet's ramp ────────────────┘
type Breaker struct {
	refused  ClassSet         // by any trip; open or half-open
	hard     ClassSet         // by a hard one
	held     ClassSet         // by the fleet
	wary     [Phases]ClassSet // whose successes count at once, see Succeed
	runs     [Phases]ClassSet // that failed since their last success
	settled  uint64           // the latest of since, and of ramps
	round    uint64           // grows with every trip, closing and probe
	pending  pending          // ends the cache line
	policy   *Policy
	evidence *evidence // nil: nothing was counted yet

	word  uint64 // the fleet's latest round
	heard [Classes]uint64
	ramps [Classes]uint64         // the own round when the fleet's latest ramp was heard of
	since [Classes][phases]uint64 // samples of older rounds move nothing
	lanes [Classes]*lane
}

// Pace says how an admit compares with ttft_limit + 3κ·input.
type Pace uint8

// The paces.
const (
	NoPace Pace = iota // says nothing: a failure, no limit, or Overdue counted it already
	OnTime
	Late
)

// Sample is one half of one attempt, once its result is known. A finish that went well was
// valid too: Quality is only ever recorded as failed.
type Sample struct {
	Classes ClassSet // all that fit; Any among them
	Round   uint64   // what Round, or Probe, said at the pick
	Phase   Phase
	Failed  bool // a hard failure, or an answer that a validator refused
	Pace    Pace // of an admit
}

// Change is what one call moved; the zero Change is nothing.
type Change struct {
	Opened ClassSet // or opened again, or harder
	Closed ClassSet
}

// SetPolicy replaces the policy. Windows of another length start empty; trips stay.
func (b *Breaker) SetPolicy(p *Policy) {
	b.flush()
	b.policy = p
	if p != nil && b.evidence != nil && !b.evidence.fits(p) {
		b.evidence = nil
	}
}

// Round is to be noted at each pick that is no probe, for Sample.Round.
func (b *Breaker) Round() uint64 { return b.round }

// Refuses tells whether an own trip forbids a request of these classes, and whether only
// soft ones do. Time does not matter: a half-open breaker refuses too, see Probe.
func (b *Breaker) Refuses(classes ClassSet) (refuses, soft bool) {
	refuses = b.refused&classes != 0
	return refuses, refuses && b.hard&classes == 0
}

// Record counts a sample in every class and judges at once. draw is any 32 random bits.
// A sample of a round before a trip or closing of one of its classes moves nothing, but
// that it may harden a soft trip.
func (b *Breaker) Record(now int64, draw uint32, s Sample) (ch Change) {
	if b.quiet(now, s) {
		return ch
	}
	if b.policy == nil {
		return ch
	}
	b.begin(now)
	if b.watch(); b.quiet(now, s) { // mostly only a cell had ended
		return ch
	}
	b.pending.lasts = 0
	b.evidence.pay()
	b.take(now, draw, s, &ch)
	if s.Phase == Finish && !s.Failed {
		s.Phase = Quality
		b.take(now, draw, s, &ch)
	}
	ch.Closed &^= b.refused
	b.watch()
	return ch
}

// begin brings the windows up to now.
func (b *Breaker) begin(now int64) {
	if b.evidence == nil {
		b.evidence = newEvidence(b.policy)
	}
	b.pour()
	b.evidence.begin(now)
}

// take counts and judges a sample of one phase.
func (b *Breaker) take(now int64, draw uint32, s Sample, ch *Change) {
	if b.refused&s.Classes != 0 && b.judgeProbe(now, draw, s, ch) {
		return
	}
	if b.moot(s) {
		ch.Opened |= b.harden(now, draw, s)
		return
	}
	for c := range Classes {
		if s.Classes.Has(c) {
			b.add(now, c, s)
		}
	}
	ch.Opened |= b.judge(now, draw, s.Classes, s.Phase)
}

// Overdue counts a first token that is missing when its limit passes. The admit that
// follows carries NoPace.
func (b *Breaker) Overdue(now int64, draw uint32, classes ClassSet, round uint64) (ch Change) {
	if b.policy == nil {
		return ch
	}
	if b.refused&classes != 0 && b.overdueProbe(now, draw, classes, round, &ch) {
		return ch
	}
	if b.moot(Sample{Classes: classes, Round: round, Phase: Admit}) {
		return ch
	}
	b.begin(now)
	b.evidence.pay()
	for c := range Classes {
		if classes.Has(c) {
			b.evidence.add(now, paces, c, one(false))
		}
	}
	ch.Opened = b.judge(now, draw, classes, Admit)
	return ch
}

// moot tells whether a sample says nothing new: it is of a round before a trip or closing
// of one of its classes, or one of them is open hard. It must not open a wider class.
func (b *Breaker) moot(s Sample) bool {
	for c := range Classes {
		if !s.Classes.Has(c) {
			continue
		}
		if k := b.trip(at{c, s.Phase}); s.Round < b.since[c][s.Phase] || k.open && !k.soft {
			return true
		}
	}
	return false
}
