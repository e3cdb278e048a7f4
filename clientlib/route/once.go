package route

// Once takes each report of one reporter at most once, in whatever order they come: it remembers the
// newest 64 (protocol.md, Report). What is older than those, or of a process before, may have been
// counted, and is not again. The zero Once has seen none.
type Once struct {
	incarnation, newest uint64
	seen                uint64 // bit i: newest − i was counted
}

// Take tells whether a report is to be counted, and whether it is the latest.
func (o *Once) Take(incarnation, sequence uint64) (fresh, latest bool) {
	switch {
	case o.seen == 0, incarnation > o.incarnation:
		*o = Once{incarnation, sequence, 1}
		return true, true
	case incarnation < o.incarnation:
		return false, false
	case sequence > o.newest:
		o.seen = o.seen<<(sequence-o.newest) | 1
		o.newest = sequence
		return true, true
	}
	bit := uint64(1) << (o.newest - sequence) // none, of what is too old
	fresh = bit != 0 && o.seen&bit == 0
	o.seen |= bit
	return fresh, false
}
