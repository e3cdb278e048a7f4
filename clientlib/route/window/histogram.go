package window

import (
	"iter"
	"math/bits"
)

// The layout: below 512 µs one bucket, then 16 an octave up to 2^30 µs (18 min), one above.
// A value is off by at most 1/32 of itself. The wire carries these indices.
const (
	firstOctave = 9
	lastOctave  = 30
	fineBits    = 4
	fine        = 1 << fineBits

	buckets = (lastOctave-firstOctave)*fine + 2
)

// Histogram counts durations in a fixed logarithmic layout; merging is addition. The zero
// Histogram is empty.
type Histogram struct{ counts [buckets]uint32 }

// Add counts one duration in microseconds.
func (h *Histogram) Add(us int64) {
	c := &h.counts[bucket(us)]
	*c = plus(*c, 1)
}

// All yields index and count of every bucket that is not empty, lowest first.
func (h *Histogram) All() iter.Seq2[uint32, uint64] {
	return func(yield func(uint32, uint64) bool) {
		for i, n := range h.counts {
			if n > 0 && !yield(uint32(i), uint64(n)) {
				return
			}
		}
	}
}

// bucket is the index of a duration, from the bits of the integer.
func bucket(us int64) uint32 {
	if us < 1<<firstOctave {
		return 0
	}
	octave := bits.Len64(uint64(us)) - 1
	if octave >= lastOctave {
		return buckets - 1
	}
	part := us >> (octave - fineBits) & (fine - 1)
	return uint32((octave-firstOctave)*fine+int(part)) + 1
}
