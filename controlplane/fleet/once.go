package fleet

// once counts the reports of one reporter at most once each.
type once struct {
	incarnation uint64
	last, seen  uint64 // highest sequence counted; bit i: last − i was counted
}

// counts tells whether a report is counted, and whether it is the latest.
func (o *once) counts(incarnation, sequence uint64) (fresh, latest bool) {
	switch {
	case incarnation < o.incarnation:
		return false, false
	case incarnation > o.incarnation:
		*o = once{incarnation: incarnation}
	}
	if o.seen == 0 || sequence > o.last {
		o.seen = o.seen<<min(sequence-o.last, 64) | 1
		o.last = sequence
		return true, true
	}
	bit := uint64(1) << min(o.last-sequence, 64)
	fresh = bit != 0 && o.seen&bit == 0
	o.seen |= bit
	return fresh, false
}
