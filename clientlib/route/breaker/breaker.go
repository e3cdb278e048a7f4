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
	policy  *Policy
	round   uint64   // grows with every trip, closing and probe
	refused ClassSet // by any trip; open or half-open
	hard    ClassSet // by a hard one
	held    ClassSet // by the fleet
	word    uint64   // the fleet's latest round
	heard   [Classes]uint64
	ramps   [Classes]uint64 // the own round when the fleet's latest ramp was heard of
	lanes   [Classes]*lane
}

// Pace says how an admit compares with ttft_limit + 3κ·input.
type Pace uint8

// The paces.
const (
	NoPace Pace = iota // says nothing: a failure, no limit, or Overdue counted it already
	OnTime
	Late
)

// Sample is one half of one attempt, once its result is known.
type Sample struct {
	Classes ClassSet // all that fit; Any among them
	Round   uint64   // what Round, or Probe, said at the pick
	Phase   Phase
	Failed  bool // a hard failure
	Pace    Pace // of an admit
}

// Change is what one call moved; the zero Change is nothing.
type Change struct {
	Opened ClassSet // or opened again, or harder
	Closed ClassSet
}

// SetPolicy replaces the policy. Windows of another length start empty; trips stay.
func (b *Breaker) SetPolicy(p *Policy) {
	old := b.policy
	b.policy = p
	if p == nil || old == nil || old.Window == p.Window && old.SlowWindow == p.SlowWindow {
		return
	}
	for _, l := range b.lanes {
		if l != nil {
			l.resize(p)
		}
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
	if b.policy == nil {
		return ch
	}
	if b.refused&s.Classes != 0 && b.judgeProbe(now, draw, s, &ch) {
		return ch
	}
	if b.moot(s) {
		ch.Opened = b.harden(now, draw, s)
		return ch
	}
	for c := range Classes {
		if s.Classes.Has(c) {
			b.lane(c).add(now, s)
		}
	}
	ch.Opened = b.judge(now, draw, s.Classes, s.Phase)
	return ch
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
	for c := range Classes {
		if classes.Has(c) {
			b.lane(c).pace.add(now, false)
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
		if k := &b.lane(c).keys[s.Phase]; s.Round < k.since || k.open && !k.soft {
			return true
		}
	}
	return false
}
