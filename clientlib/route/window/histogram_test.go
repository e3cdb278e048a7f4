package window

import (
	"math"
	"slices"
	"testing"
)

func TestABucketIsNarrowerThanASixteenth(t *testing.T) {
	last, first := uint32(0), int64(0)
	for us := int64(1000); us <= 600_000_000; us += 1 + us/997 {
		i := bucket(us)
		if i < last || i >= buckets-1 {
			t.Fatalf("%d µs: bucket %d after %d", us, i, last)
		}
		if i > last {
			last, first = i, us
		}
		if us-first > first/16 {
			t.Fatalf("%d and %d µs share a bucket", first, us)
		}
	}
}

func TestHistogramLayout(t *testing.T) { // the wire depends on it
	tests := []struct {
		us     int64
		bucket uint32
	}{
		{-1, 0}, {0, 0}, {511, 0}, {512, 1}, {543, 1}, {544, 2}, {1023, 16}, {1024, 17}, {1_000_000, 175},
		{1<<30 - 1, 336}, {1 << 30, 337}, {math.MaxInt64, 337},
	}
	for _, tt := range tests {
		if got := bucket(tt.us); got != tt.bucket {
			t.Errorf("%d µs: bucket %d, want %d", tt.us, got, tt.bucket)
		}
	}
}

func TestAHistogramYieldsWhatItCounted(t *testing.T) {
	var h Histogram
	for _, us := range []int64{1_000_000, 1, 2, 1_000_001} {
		h.Add(us)
	}
	h.counts[337] = math.MaxUint32
	h.Add(1 << 40) // counts do not wrap
	var got [][2]uint64
	for i, n := range h.All() {
		got = append(got, [2]uint64{uint64(i), n})
	}
	want := [][2]uint64{{0, 2}, {175, 2}, {337, math.MaxUint32}}
	if !slices.Equal(got, want) {
		t.Errorf("%d, want %d", got, want)
	}
	for range h.All() {
		break // an early end is allowed
	}
}
