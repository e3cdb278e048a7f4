package window

import (
	"math"
	"testing"
)

func TestBucketsAreWithinFivePercent(t *testing.T) {
	last := uint32(0)
	for us := int64(1000); us <= 600_000_000; us += 1 + us/997 {
		i := bucket(us)
		if i < last || i >= Buckets-1 {
			t.Fatalf("%d µs: bucket %d after %d", us, i, last)
		}
		last = i
		if e := math.Abs(float64(middle(i))/float64(us) - 1); e > 0.05 {
			t.Fatalf("%d µs stands for %d: off by %.3f", us, middle(i), e)
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

func TestQuantile(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
	for us := int64(1); us <= 1000; us++ {
		h.Add(us * 1000)
	}
	for _, tt := range []struct {
		q    float64
		want float64
	}{{0, 1e3}, {0.5, 500e3}, {0.9, 900e3}, {0.99, 990e3}, {1, 1000e3}, {2, 1000e3}} {
		if got := float64(h.Quantile(tt.q)); math.Abs(got/tt.want-1) > 0.05 {
			t.Errorf("quantile %v = %v, want %v", tt.q, got, tt.want)
		}
	}
}

func TestMergeIsAddition(t *testing.T) {
	var a, b, both Histogram
	for us := int64(1); us < 1e9; us = us*3 + 7 {
		a.Add(us)
		both.Add(us)
		b.Add(us / 2)
		both.Add(us / 2)
	}
	a.Merge(&b)
	if a != both {
		t.Error("merged differs from added")
	}
	var copied Histogram
	for i, n := range a.All() {
		copied.AddBucket(i, n)
	}
	if copied != a {
		t.Error("a histogram differs from its buckets")
	}
	for range a.All() {
		break // an early end is allowed
	}
}

func TestHistogramSaturates(t *testing.T) {
	var h Histogram
	h.AddBucket(1<<31, 1<<62)
	h.AddBucket(Buckets, 5)
	if h.Count() != math.MaxUint32 || h.Quantile(0.5) != 1<<30 {
		t.Errorf("count %d, median %d", h.Count(), h.Quantile(0.5))
	}
	if (&Histogram{n: 1}).Quantile(1) != 0 {
		t.Error("a count without buckets has a quantile")
	}
	h = Histogram{}
	h.Add(1)
	if h.Quantile(0.5) != 256 {
		t.Errorf("median %d of what is below the layout", h.Quantile(0.5))
	}
}
