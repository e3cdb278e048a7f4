package hub

// once lets each report of one process through once, in whatever order they come: a window
// of the newest. What is older than that, or of a process before, may have been counted.
type once struct {
	incarnation, newest uint64
	seen                uint64 // a bit for each of the 64 up to the newest; 0: none came yet
}

// take says whether this one is to be counted.
func (o *once) take(incarnation, sequence uint64) bool {
	switch {
	case o.seen == 0, incarnation > o.incarnation:
		*o = once{incarnation, sequence, 1}
		return true
	case incarnation < o.incarnation:
		return false
	case sequence > o.newest:
		o.seen = o.seen<<(sequence-o.newest) | 1
		o.newest = sequence
		return true
	}
	bit := uint64(1) << (o.newest - sequence)
	if bit == 0 || o.seen&bit != 0 {
		return false
	}
	o.seen |= bit
	return true
}
