package breaker

// model is the breaker as its rules read: every sample is kept in a list, and counted anew
// at every question.
type model struct {
	policy       *Policy
	round, word  uint64
	held         ClassSet
	heard, ramps [Classes]uint64
	keys         [Classes][phases]modelKey
}

type modelKey struct {
	open, soft, inherited      bool
	since, before, word, probe uint64
	until, probeBy, healthy    int64
	good, steps                int
	reason                     string
	results, pace              lists
	run                        []int64 // failures since the last success
}

type seen struct {
	at  int64
	bad bool
}

// lists hold the samples of the fast and of the slow window.
type lists [2][]seen

func (l *lists) add(s seen) { l[0], l[1] = append(l[0], s), append(l[1], s) }

// inside tells whether a time is in the window that ends with the cell of now.
func inside(at, now, span int64) bool {
	width := max(span/8, 1)
	return span > 0 && at/width > now/width-8
}

func tallied(list []seen, now, span int64) (bad, n int64) {
	for _, s := range list {
		if inside(s.at, now, span) {
			n++
			if s.bad {
				bad++
			}
		}
	}
	return bad, n
}

func (m *model) setPolicy(p *Policy) {
	if old := m.policy; old != nil && (old.Window != p.Window || old.SlowWindow != p.SlowWindow) {
		m.each(covered(Any), func(_ at, k *modelKey) { k.results, k.pace = lists{}, lists{} })
	}
	m.policy = p
}

func (m *model) each(classes ClassSet, do func(at, *modelKey)) {
	for c := range Classes {
		for p := range phases {
			if classes.Has(c) {
				do(at{c, p}, &m.keys[c][p])
			}
		}
	}
}

// opened calls for each key of these classes that stands open.
func (m *model) opened(classes ClassSet, do func(at, *modelKey)) {
	m.each(classes, func(a at, k *modelKey) {
		if k.open {
			do(a, k)
		}
	})
}

func (m *model) refused(classes ClassSet) (refused, hard ClassSet) {
	m.opened(classes, func(a at, k *modelKey) {
		refused |= a.class.Set()
		if !k.soft {
			hard |= a.class.Set()
		}
	})
	return refused, hard
}

func (m *model) record(now int64, draw uint32, s Sample) (ch Change) {
	m.take(now, draw, s, &ch)
	if s.Phase == Finish && !s.Failed {
		s.Phase = Quality
		m.take(now, draw, s, &ch)
	}
	refused, _ := m.refused(covered(Any))
	ch.Closed &^= refused
	return ch
}

func (m *model) take(now int64, draw uint32, s Sample, ch *Change) {
	if m.probed(now, draw, s, ch) {
		return
	}
	if m.moot(s) {
		ch.Opened |= m.harden(now, draw, s)
		return
	}
	for c := range Classes {
		if s.Classes.Has(c) {
			m.add(now, &m.keys[c][s.Phase], s)
		}
	}
	ch.Opened |= m.judge(now, draw, s.Classes, s.Phase)
}

func (m *model) add(now int64, k *modelKey, s Sample) {
	k.results.add(seen{now, s.Failed})
	if s.Failed {
		k.run = append(k.run, now)
	} else {
		k.run = nil
	}
	if s.Phase == Admit && s.Pace != NoPace {
		k.pace.add(seen{now, s.Pace == Late})
	}
}

func (m *model) overdue(now int64, draw uint32, classes ClassSet, round uint64) (ch Change) {
	probe := false
	m.opened(classes, func(a at, k *modelKey) {
		if k.probe != round || round == 0 {
			return
		}
		probe = true
		if k.soft {
			m.open(now, draw, a, true, k.reason)
			ch.Opened |= a.class.Set()
		}
	})
	if probe || m.moot(Sample{Classes: classes, Round: round, Phase: Admit}) {
		return ch
	}
	m.each(classes, func(a at, k *modelKey) {
		if a.phase == Admit {
			k.pace.add(seen{now, true})
		}
	})
	ch.Opened = m.judge(now, draw, classes, Admit)
	return ch
}

func (m *model) moot(s Sample) (moot bool) {
	m.each(s.Classes, func(a at, k *modelKey) {
		if a.phase == s.Phase && (s.Round < k.since || k.open && !k.soft) {
			moot = true
		}
	})
	return moot
}

func (m *model) probed(now int64, draw uint32, s Sample, ch *Change) (judged bool) {
	m.opened(s.Classes, func(a at, k *modelKey) {
		alike := a.phase == s.Phase || s.Failed && a.phase != Quality && s.Phase != Quality
		if k.probe != s.Round || s.Round == 0 || !alike {
			return
		}
		judged = true
		switch {
		case s.Failed && k.soft:
			m.open(now, draw, a, false, "a probe failed")
			ch.Opened |= a.class.Set()
		case s.Failed || k.soft && s.Pace == Late:
			m.open(now, draw, a, k.soft, k.reason)
			ch.Opened |= a.class.Set()
		case k.good == 1:
			m.close(now, a)
			ch.Closed |= a.class.Set()
		default:
			k.probe, k.good = 0, k.good+1
		}
	})
	return judged
}

func (m *model) close(now int64, a at) {
	k := &m.keys[a.class][a.phase]
	k.open, k.probe, k.good, k.healthy = false, 0, 0, now
	m.round++
	m.renew(k)
}

func (m *model) until(classes ClassSet) (until int64) {
	m.opened(classes, func(_ at, k *modelKey) {
		until = max(until, k.until)
		if k.probe != 0 {
			until = max(until, k.probeBy)
		}
	})
	return until
}

func (m *model) probe(now int64, classes ClassSet) (round uint64, ok bool) {
	if refused, _ := m.refused(classes); refused == 0 || m.held&classes != 0 || now < m.until(classes) {
		return 0, false
	}
	limit := m.policy.TTFTLimit
	if limit == 0 {
		limit = 10e6
	}
	m.opened(classes, func(_ at, k *modelKey) { k.probe, k.probeBy = m.round+1, now+limit })
	m.round += 2
	return m.round - 1, true
}

func (m *model) giveBack(round uint64) {
	m.opened(covered(Any), func(_ at, k *modelKey) {
		if k.probe == round {
			k.probe = 0
		}
	})
}

func (m *model) fleet(now int64, draw uint32, w Word) (ch Change) {
	wasHeld := m.held.Has(w.Class)
	m.held &^= w.Class.Set()
	m.word = max(m.word, w.Round)
	news := w.Round > m.heard[w.Class] && (w.Standing == Held || w.Standing == Ramping)
	if news {
		m.heard[w.Class] = w.Round
		m.round++
		m.each(covered(w.Class), func(_ at, k *modelKey) { m.renew(k) })
	}
	switch w.Standing {
	case Held:
		m.held |= w.Class.Set()
	case Ramping:
		if news {
			m.ramps[w.Class] = m.round
		}
		ch.Closed = m.clear(now, covered(w.Class), w.Round)
	case Free:
		ch.Closed = m.clear(now, w.Class.Set(), 0)
	case Lost:
		if wasHeld {
			m.inherit(now, draw, w.Class)
			ch.Opened = w.Class.Set()
		}
	}
	return ch
}

func (m *model) clear(now int64, classes ClassSet, round uint64) (closed ClassSet) {
	m.opened(classes, func(a at, k *modelKey) {
		if k.word < round || k.inherited {
			m.close(now, a)
			closed |= a.class.Set()
		}
	})
	refused, _ := m.refused(covered(Any))
	return closed &^ refused
}

func (m *model) inherit(now int64, draw uint32, c Class) {
	k := &m.keys[c][Admit]
	if !k.open {
		k.open, k.soft, k.good, k.probe = true, false, 0, 0
		k.inherited, k.reason, k.word = true, "no news of the fleet's opening", m.word
	}
	k.until = max(k.until, now+part(m.policy.Cooldown, draw))
	m.restart(at{c, Admit})
}

func (m *model) trips() (all []Trip) {
	m.opened(covered(Any), func(a at, k *modelKey) {
		all = append(all, Trip{Class: a.class, Phase: a.phase, Soft: k.soft, Round: k.word, Until: k.until, Reason: k.reason, Vote: !k.inherited && a.phase != Quality})
	})
	return all
}

func (m *model) outdated(classes ClassSet, round uint64) bool {
	for c := range Classes {
		if round < m.ramps[c] && covered(c)&classes != 0 {
			return true
		}
	}
	return false
}
