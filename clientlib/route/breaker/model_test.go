package breaker

import (
	"fmt"
	"slices"
)

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

func tally(list []seen, now, span int64) (bad, n int64) {
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

func (m *model) harden(now int64, draw uint32, s Sample) (hardened ClassSet) {
	if _, hard := m.refused(s.Classes); hard != 0 {
		return 0
	}
	m.opened(s.Classes, func(a at, k *modelKey) {
		if a.phase != s.Phase || s.Round < k.before || hardened != 0 {
			return
		}
		s.Pace = NoPace
		m.add(now, k, s)
		if v, ok := m.failing(now, k, a.phase); ok {
			m.open(now, draw, a, false, v.reason)
			hardened = a.class.Set()
		}
	})
	return hardened
}

// verdict is why a key should open.
type verdict struct {
	soft   bool
	run    int64 // so many failures in a row; 0: by a window
	window int   // 0: fast, 1: slow
	reason string
}

func (m *model) failing(now int64, k *modelKey, p Phase) (verdict, bool) {
	if n := int64(len(m.row(now, k))); p != Quality && m.policy.Consecutive > 0 && n >= m.policy.Consecutive {
		return verdict{run: n, window: 1, reason: fmt.Sprintf("%d failures in a row", n)}, true
	}
	what := "failed"
	if p == Quality {
		what = "invalid"
	}
	return m.over(now, k.results, false, what)
}

func (m *model) row(now int64, k *modelKey) (row []int64) {
	for _, t := range k.run {
		if inside(t, now, 600e6) {
			row = append(row, t)
		}
	}
	return row
}

func (m *model) span(window int) int64 {
	return [...]int64{m.policy.Window, m.policy.SlowWindow}[window]
}

func (m *model) over(now int64, l lists, soft bool, what string) (verdict, bool) {
	for i := range l {
		if bad, n := tally(l[i], now, m.span(i)); n >= m.policy.MinSamples && m.crosses(soft, bad, n) {
			return verdict{soft: soft, window: i, reason: fmt.Sprintf("%d of %d %s", bad, n, what)}, true
		}
	}
	return verdict{}, false
}

func (m *model) crosses(soft bool, bad, n int64) bool {
	if soft {
		return float64(bad) > 0.1*float64(n)
	}
	return bad > 0 && float64(bad) >= m.policy.FailureRatio*float64(n)
}

func (m *model) judge(now int64, draw uint32, classes ClassSet, p Phase) (opened ClassSet) {
	var why [Classes]verdict
	for c := range Classes {
		k := &m.keys[c][p]
		if !classes.Has(c) || k.open && !k.soft {
			continue
		}
		v, ok := m.failing(now, k, p)
		if !ok && p == Admit && !k.open && m.policy.TTFTLimit > 0 {
			v, ok = m.over(now, k.pace, true, "above ttft_limit")
		}
		if !ok {
			continue
		}
		narrow := m.narrowest(now, c, p, v)
		why[narrow] = v
		opened |= narrow.Set()
		if narrow == Any {
			break
		}
	}
	for c := range Classes {
		if opened.Has(c) {
			m.open(now, draw, at{c, p}, why[c].soft, why[c].reason)
		}
	}
	return opened
}

func (m *model) narrowest(now int64, wide Class, p Phase, v verdict) Class {
	count := func(c Class) (bad, n int64) {
		if v.soft {
			return tally(m.keys[c][p].pace[v.window], now, m.span(v.window))
		}
		return tally(m.keys[c][p].results[v.window], now, m.span(v.window))
	}
	limit := m.policy.FailureRatio
	if v.soft {
		limit = 0.1
	}
	best := wide
	_, fewest := count(wide)
	allBad, all := count(Any)
	for d := Stream; d < Classes; d++ {
		bad, n := count(d)
		well := all-n >= max(m.policy.MinSamples/2, 1) && float64(allBad-bad) <= limit/2*float64(all-n)
		alone := v.run == 0 || int64(len(m.row(now, &m.keys[d][p]))) >= v.run
		if d != wide && well && alone && m.crosses(v.soft, bad, n) && n <= fewest {
			best, fewest = d, n
		}
	}
	return best
}

func (m *model) open(now int64, draw uint32, a at, soft bool, reason string) {
	k := &m.keys[a.class][a.phase]
	if !k.open {
		k.before = k.since
		k.steps = max(k.steps-int((now-k.healthy)/60e6), 0)
	}
	if !k.open || now >= k.until {
		k.steps = min(k.steps+1, 32)
	}
	k.inherited = k.inherited && k.open && reason == k.reason
	k.open, k.soft, k.reason, k.word, k.probe, k.good = true, soft, reason, m.word, 0, 0
	d := m.policy.CooldownAt(k.steps)
	k.until = max(k.until, now+d+part(d/2, draw))
	m.restart(a)
}

func (m *model) restart(a at) {
	m.round++
	for c := range Classes {
		k := &m.keys[c][a.phase]
		switch {
		case c == a.class:
		case a.class == Any:
			m.renew(k)
		case c == Any:
			part := &m.keys[a.class][a.phase]
			k.results, k.pace, k.run = m.without(k.results, part.results), m.without(k.pace, part.pace), nil
		default:
			k.results, k.pace, k.run = lists{}, lists{}, nil
		}
	}
	m.renew(&m.keys[a.class][a.phase])
}

func (m *model) renew(k *modelKey) {
	k.since, k.results, k.pace, k.run = m.round, lists{}, lists{}, nil
}

// without takes out of lists what a part of them holds, as far as cells tell.
func (m *model) without(all, part lists) (rest lists) {
	for i := range all {
		rest[i] = slices.Clone(all[i])
		width := max(m.span(i)/8, 1)
		for _, s := range part[i] {
			alike := func(o seen) bool { return o.bad == s.bad && o.at/width == s.at/width }
			if j := slices.IndexFunc(rest[i], alike); j >= 0 {
				rest[i] = slices.Delete(rest[i], j, j+1)
			}
		}
	}
	return rest
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
