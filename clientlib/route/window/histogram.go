package window

import (
	"iter"
	"math"
	"math/bits"
)

// The layout: below 512 µs one bucket, then 16 an octave up to 2^30 µs (18 min), one above.
// A value is off by at most 1/32 of itself. The wire carries these indices.
const (
	firstOctave = 9
	lastOctave  = 30
	fineBits    = 4
	fine        = 1 << fineBits

	// Buckets is how many there are: indices are below it.
	Buckets = (lastOctave-firstOctave)*fine + 2
)

// Histogram counts durations in a fixed logarithmic layout; merging is addition. The zero
// Histogram is empty.
type Histogram struct {
	n      uint64
	counts [Buckets]uint32
}

// Add counts one duration in microseconds.
func (h *Histogram) Add(us int64) { h.AddBucket(bucket(us), 1) }

// AddBucket counts n durations of one bucket; an index outside the layout counts as the last.
func (h *Histogram) AddBucket(index uint32, n uint64) {
	c := &h.counts[min(index, Buckets-1)]
	n = min(n, uint64(math.MaxUint32-*c))
	*c += uint32(n)
	h.n += n
}

// Merge adds all that other counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.AddBucket(uint32(i), uint64(n))
	}
}

// Count is how many durations were added.
func (h *Histogram) Count() uint64 { return h.n }

// Quantile is the middle of the bucket below whose end a part q (0 to 1) of all durations
// lie, in microseconds; 0 when empty.
func (h *Histogram) Quantile(q float64) int64 {
	rank := uint64(max(math.Ceil(q*float64(h.n)), 1))
	var seen uint64
	for i, n := range h.counts {
		if seen += uint64(n); n > 0 && seen >= min(rank, h.n) {
			return middle(uint32(i))
		}
	}
	return 0
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
		return Buckets - 1
	}
	part := us >> (octave - fineBits) & (fine - 1)
	return uint32((octave-firstOctave)*fine+int(part)) + 1
}

// middle is the value that stands for a bucket.
func middle(index uint32) int64 {
	switch index {
	case 0:
		return 1 << (firstOctave - 1)
	case Buckets - 1:
		return 1 << lastOctave
	}
	octave, part := int(index-1)/fine+firstOctave, int64(index-1)%fine
	width := int64(1) << (octave - fineBits)
	return (fine+part)*width + width/2
}
