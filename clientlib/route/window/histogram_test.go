package window

import (
	"math"
	"slices"
	"testing"
)

func TestABucketIsNarrowerThanASixteenth(t *testing.T) {
	last, first := uint32(0), int64(0)
	for us := int64(1000); us <= 600_000_000; us += 1 + us/997 {
		i := Bucket(us)
		if i < last || i >= Buckets-1 {
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
		if got := Bucket(tt.us); got != tt.bucket {
			t.Errorf("%d µs: bucket %d, want %d", tt.us, got, tt.bucket)
		}
	}
}

func TestAHistogramYieldsWhatItCounted(t *testing.T) {
	var h Histogram
	for _, us := range []int64{1_000_000, 1, 2, 1_000_001} {
		h.Add(us)
	}
	h.Put(337, math.MaxUint32)
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

func TestAQuantileIsTheMiddleOfItsBucket(t *testing.T) {
	var h Histogram
	if got := h.Quantile(500); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
	for us := int64(1_000); us <= 100_000; us += 1_000 {
		h.Add(us)
	}
	h.Add(math.MaxInt64)
	for _, tt := range []struct {
		thousandths uint64
		want        int64
	}{{0, 1_000}, {1, 1_000}, {500, 51_000}, {990, 100_000}, {1000, 1 << 30}} {
		if got := h.Quantile(tt.thousandths); got < tt.want-tt.want/32-1 || got > tt.want+tt.want/32+1 || Bucket(got) != Bucket(tt.want) {
			t.Errorf("%d thousandths: %d, want about %d", tt.thousandths, got, tt.want)
		}
	}
	var low Histogram
	low.Add(3)
	if got := low.Quantile(1000); got != 256 {
		t.Errorf("of the lowest bucket: %d", got)
	}
}

func TestHalvesMergesAndClears(t *testing.T) {
	var a, b Histogram
	a.Put(3, 5)
	a.Put(70, 1)
	b.Put(70, 2)
	b.Merge(&a)
	if got := b.Total(); got != 8 {
		t.Errorf("merged: %d", got)
	}
	b.Halve()
	var got [][2]uint64
	for i, n := range b.All() {
		got = append(got, [2]uint64{uint64(i), n})
	}
	if want := [][2]uint64{{3, 2}, {70, 1}}; !slices.Equal(got, want) {
		t.Errorf("halved: %d, want %d", got, want)
	}
	if b.Clear(); b != (Histogram{}) {
		t.Error("something is left")
	}
}
