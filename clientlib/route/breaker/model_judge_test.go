package breaker

import (
	"fmt"
	"slices"
)

// verdict is why a key should open.
type verdict struct {
	soft   bool
	run    int64 // so many failures in a row; 0: by a window
	window int   // 0: fast, 1: slow
	reason string
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
		if bad, n := tallied(l[i], now, m.span(i)); n >= m.policy.MinSamples && m.crosses(soft, bad, n) {
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
			return tallied(m.keys[c][p].pace[v.window], now, m.span(v.window))
		}
		return tallied(m.keys[c][p].results[v.window], now, m.span(v.window))
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
