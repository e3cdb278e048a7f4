package route

// What goes on for minutes is told, although requests succeed (requirements.md, C4).
const (
	minute   = 60 * second
	lastsFor = 5      // minutes (control-plane.md, Judging)
	relaxed  = minute // without a refusal an endpoint is not limited any more
	spilling = 0.2    // of a workload's attempts, below the first tier that has members for them
)

// strain is since when an endpoint is limited: refused for a limit, or by its provider for
// one, again and again.
type strain struct {
	since, last int64 // 0: never
	told        bool
}

func (s *strain) refuse(now int64) {
	if s.over(now) {
		s.since, s.told = now, false
	}
	s.last = now
}

func (s *strain) over(now int64) bool { return s.last == 0 || now-s.last >= relaxed }

// lasts tells once that it has gone on for long.
func (s *strain) lasts(now int64) bool {
	if s.told || s.over(now) || now-s.since < lastsFor*minute {
		return false
	}
	s.told = true
	return true
}

// limits tells whether a reason is that something is used up.
func (r Reason) limits() bool {
	return r == ReasonQuotaRequests || r == ReasonQuotaTokens || r == ReasonQuotaCooldown || r == ReasonConcurrency
}

// refuse notes that a gate kept the call at hand from a place.
func (r *Router) refuse(now int64, place int32, reason Reason) {
	r.choice.refuse(reason)
	if reason.limits() {
		r.current[place].strain.refuse(now)
	}
}

// spill counts a workload's attempts by minutes, the current one first: all, and those that
// went to a lower tier.
type spill struct {
	all, lower [lastsFor + 1]int64
	told       bool
}

func (s *spill) count(lower bool) {
	s.all[0]++
	if lower {
		s.lower[0]++
	}
}

// turn begins a minute. It tells once that more than a fifth went lower in each of the last ones.
func (s *spill) turn() bool {
	over := true
	for i := range lastsFor {
		over = over && float64(s.lower[i]) > float64(spilling*float64(s.all[i]))
	}
	copy(s.all[1:], s.all[:])
	copy(s.lower[1:], s.lower[:])
	s.all[0], s.lower[0] = 0, 0
	news := over && !s.told
	s.told = over
	return news
}

// endure looks once a minute at what has gone on for long.
func (r *Router) endure(now int64) {
	if now < r.minuteAt {
		return
	}
	r.minuteAt = now + minute
	for _, w := range r.order {
		if w.spill.turn() {
			r.event(Event{Kind: EventSpilling, At: now, Workload: w.compiled.spec.Name})
		}
	}
	for _, l := range r.current {
		if l.strain.lasts(now) {
			r.event(Event{Kind: EventLimited, At: now, Endpoint: l.name})
		}
	}
}

// Strain is what was told of and still goes on: an endpoint that is limited, or a workload
// that spills; the other is empty.
type Strain struct{ Endpoint, Workload string }

// Strains appends to buf the endpoints that are limited, then the workloads that spill, by name.
func (r *Router) Strains(now int64, buf []Strain) []Strain {
	for _, l := range r.current {
		if l.strain.told && !l.strain.over(now) {
			buf = append(buf, Strain{Endpoint: l.name})
		}
	}
	for _, w := range r.order {
		if w.spill.told {
			buf = append(buf, Strain{Workload: w.compiled.spec.Name})
		}
	}
	return buf
}
