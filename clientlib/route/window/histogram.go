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

	Buckets = (lastOctave-firstOctave)*fine + 2
)

// Histogram counts durations in a fixed logarithmic layout; merging is addition. The zero
// Histogram is empty.
type Histogram struct {
	filled [(Buckets + 63) / 64]uint64 // a bit for each bucket that is not empty
	counts [Buckets]uint32
}

// Add counts one duration in microseconds.
func (h *Histogram) Add(us int64) { h.Put(Bucket(us), 1) }

// Put counts n durations of one bucket.
func (h *Histogram) Put(bucket, n uint32) {
	h.filled[bucket/64] |= 1 << (bucket % 64)
	c := &h.counts[bucket]
	*c = plus(*c, n)
}

// Merge adds all that another one counted.
func (h *Histogram) Merge(o *Histogram) {
	for i := range o.All() {
		h.Put(i, o.counts[i])
	}
}

// Clear forgets all.
func (h *Histogram) Clear() {
	for i := range h.All() {
		h.counts[i] = 0
	}
	h.filled = [len(h.filled)]uint64{}
}

// Halve forgets half of each bucket, and a last one.
func (h *Histogram) Halve() {
	for i := range h.All() {
		if h.counts[i] /= 2; h.counts[i] == 0 {
			h.filled[i/64] &^= 1 << (i % 64)
		}
	}
}

// Total is how many are counted.
func (h *Histogram) Total() (n uint64) {
	for _, c := range h.All() {
		n += c
	}
	return n
}

// Quantile is the middle of the bucket in which so many thousandths are counted, from below;
// 0 of an empty one.
func (h *Histogram) Quantile(thousandths uint64) int64 {
	rank := (h.Total()*thousandths + 999) / 1000
	for i, n := range h.All() {
		if n >= rank {
			return middle(i)
		}
		rank -= n
	}
	return 0
}

// All yields index and count of every bucket that is not empty, lowest first.
func (h *Histogram) All() iter.Seq2[uint32, uint64] {
	return func(yield func(uint32, uint64) bool) {
		for w, word := range h.filled {
			for ; word != 0; word &= word - 1 {
				i := w*64 + bits.TrailingZeros64(word)
				if !yield(uint32(i), uint64(h.counts[i])) {
					return
				}
			}
		}
	}
}

// Bucket is the index of a duration, from the bits of the integer.
func Bucket(us int64) uint32 {
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

// middle of a bucket; of the last one, where it begins.
func middle(bucket uint32) int64 {
	switch bucket {
	case 0:
		return 1 << firstOctave / 2
	case Buckets - 1:
		return 1 << lastOctave
	}
	octave, part := (bucket-1)/fine+firstOctave, int64(bucket-1)%fine
	width := int64(1) << (octave - fineBits)
	return int64(1)<<octave + part*width + width/2
}
