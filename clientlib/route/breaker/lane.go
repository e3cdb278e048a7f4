package breaker

import "github.com/pointsman/pointsman/clientlib/route/window"

// LateLimit is the part of admits that may be above ttft_limit.
const LateLimit = 0.1

const runSpan = 600_000_000 // hard failures in a row count for 10 min

// lane is what is known of one class.
type lane struct {
	keys [Phases]key
	pace pair // of admits: on time, late
}

// key is one phase of a class.
type key struct {
	since uint64 // samples of older rounds move nothing
	trip
	counts pair
	run    window.Window // failures since the last success
}

// pair is a fast and a slow window over the same evidence; either opens.
type pair struct{ fast, slow window.Window }

func (p *pair) add(now int64, ok bool) {
	good, bad := uint32(0), uint32(1)
	if ok {
		good, bad = 1, 0
	}
	p.fast.Add(now, good, bad)
	p.slow.Add(now, good, bad)
}

func (p *pair) clear() { p.fast.Clear(); p.slow.Clear() }

func (p *pair) clean() bool { return p.fast.Clean() && p.slow.Clean() }

func (p *pair) subtract(part *pair) {
	p.fast.Subtract(&part.fast)
	p.slow.Subtract(&part.slow)
}

func newPair(p *Policy) pair {
	return pair{fast: window.New(p.Window), slow: window.New(p.SlowWindow)}
}

// lane makes a class's lane on first use, so that an idle endpoint costs little.
func (b *Breaker) lane(c Class) *lane {
	if b.lanes[c] == nil {
		l := &lane{}
		for p := range l.keys {
			l.keys[p].since = b.round
			if c != Any {
				l.keys[p].since = b.lane(Any).keys[p].since
			}
			l.keys[p].run = window.New(runSpan)
		}
		l.resize(b.policy)
		b.lanes[c] = l
	}
	return b.lanes[c]
}

// resize starts windows of the policy's lengths.
func (l *lane) resize(p *Policy) {
	for i := range l.keys {
		l.keys[i].counts = newPair(p)
	}
	l.pace = newPair(p)
}

// add counts a sample of this class.
func (l *lane) add(now int64, s Sample) {
	l.keys[s.Phase].add(now, !s.Failed)
	if s.Phase == Admit && s.Pace != NoPace {
		l.pace.add(now, s.Pace == OnTime)
	}
}

func (k *key) add(now int64, ok bool) {
	k.counts.add(now, ok)
	if ok {
		k.run.Clear()
	} else {
		k.run.Add(now, 0, 1)
	}
}

// clean tells that nothing speaks against a phase.
func (l *lane) clean(p Phase) bool {
	k := &l.keys[p]
	return k.run.Clean() && k.counts.clean() && (p != Admit || l.pace.clean())
}

// forget empties what a phase was judged by.
func (l *lane) forget(p Phase) {
	l.keys[p].counts.clear()
	l.keys[p].run.Clear()
	if p == Admit {
		l.pace.clear()
	}
}

// exclude takes out the evidence of a narrower class that just opened.
func (l *lane) exclude(p Phase, part *lane) {
	l.keys[p].counts.subtract(&part.keys[p].counts)
	l.keys[p].run.Clear()
	if p == Admit {
		l.pace.subtract(&part.pace)
	}
}
