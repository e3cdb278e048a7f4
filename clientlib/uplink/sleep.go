package uplink

import "time"

// clocks notices a suspend: the wall clock went on while the monotonic one stood still.
type clocks struct{ wall, mono int64 }

// asleep is the least jump that counts.
const asleep = 5 * time.Second

// jump is by how much the wall clock ran ahead since the last look; 0: not enough to count.
func (c *clocks) jump(wall, mono int64) int64 {
	before := *c
	*c = clocks{wall, mono}
	ahead := (wall - before.wall) - (mono - before.mono)
	if ahead <= asleep.Microseconds() {
		return 0
	}
	return ahead
}

// slept ages all that is held by a suspend, and offers it anew. The stream is of no use
// then: what it carries would be dated too young. It may also be that somebody set the
// wall clock, so the next parent is asked for the whole, with dates.
func (l *Link) slept() bool {
	by := l.clocks.jump(l.wall(), l.cfg.Now())
	if by == 0 {
		return false
	}
	l.observe(Event{Kind: Slept})
	for _, number := range l.numbers() {
		l.views[number].older(by, func(t *held) {
			_, _ = l.handler.Apply(number, t.state, t.cold) // taken before: only its ages are new
		})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.status.heads {
		l.status.heads[i].at -= by
	}
	return true
}
