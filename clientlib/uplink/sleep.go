package uplink

// slept ages all that is held by a suspend, and offers it anew. The stream is of no use
// then: what it carries would be dated too young. It may also be that somebody set the
// wall clock, so the next parent is asked for the whole, with dates.
func (l *Link) slept() bool {
	by := l.clocks.Jump(l.wall(), l.cfg.Now())
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
