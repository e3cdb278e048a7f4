package measure

import (
	"math"
	"math/bits"
)

// Times is a distribution of times in µs: of any number of them in the same memory. Buckets
// are one µs wide below 512 µs, and from there on 1/256 of the power of two below them, so
// that no quantile is off by more than 0.4 %. Pages of buckets come when they are needed.
type Times struct {
	count    int64
	sum      int64
	min, max int64
	pages    []*page
	thinned  []float64 // instead of the pages: quantiles by hundredths, and that of 99.9 %
}

const (
	fineBits  = 8 // 256 buckets in each power of two
	pageBits  = 6
	mostTimes = 1 << 42 // µs, 50 days: longer ones count as that
)

type page [1 << pageBits]uint32

// Add counts one.
func (t *Times) Add(us int64) {
	us = min(max(us, 0), mostTimes)
	if t.count == 0 || us < t.min {
		t.min = us
	}
	t.max = max(t.max, us)
	t.count++
	t.sum += us
	i := bucket(us)
	t.page(i >> pageBits)[i&(1<<pageBits-1)]++
}

func (t *Times) page(i int) *page {
	for len(t.pages) <= i {
		t.pages = append(t.pages, nil)
	}
	if t.pages[i] == nil {
		t.pages[i] = new(page)
	}
	return t.pages[i]
}

// Merge adds all of another.
func (t *Times) Merge(o *Times) {
	if o.count == 0 || o.thinned != nil {
		return // what was thinned is a part, which nobody merges
	}
	if t.count == 0 || o.min < t.min {
		t.min = o.min
	}
	t.max = max(t.max, o.max)
	t.count += o.count
	t.sum += o.sum
	for i, from := range o.pages {
		if from == nil {
			continue
		}
		to := t.page(i)
		for j, n := range from {
			to[j] += n
		}
	}
}

// Count is how many there are.
func (t *Times) Count() int64 { return t.count }

// Mean is exact.
func (t *Times) Mean() float64 {
	if t.count == 0 {
		return 0
	}
	return float64(t.sum) / float64(t.count)
}

// Max is exact.
func (t *Times) Max() int64 { return t.max }

// Quantile is the time that a part p of them, 0 to 1, does not exceed, within 0.4 %.
func (t *Times) Quantile(p float64) float64 {
	if t.count == 0 {
		return 0
	}
	if t.thinned != nil {
		return t.ofThinned(p)
	}
	rank := min(max(int64(math.Ceil(p*float64(t.count))), 1), t.count)
	for i, pg := range t.pages {
		if pg == nil {
			continue
		}
		for j, n := range pg {
			if rank <= int64(n) {
				return t.within(i<<pageBits+j, (float64(rank)-0.5)/float64(n))
			}
			rank -= int64(n)
		}
	}
	return float64(t.max)
}

const hundredths = 100

// thin keeps a hundred quantiles instead of the buckets, a twentieth of the memory. Nothing
// may be added after it.
func (t *Times) thin() {
	if t.count == 0 || t.thinned != nil {
		return
	}
	values := make([]float64, 0, hundredths+2)
	for i := range hundredths + 1 {
		values = append(values, t.Quantile(float64(i)/hundredths))
	}
	values = append(values, t.Quantile(0.999))
	t.thinned, t.pages = values, nil
}

// ofThinned is what was kept, or between two of it.
func (t *Times) ofThinned(p float64) float64 {
	if p == 0.999 {
		return t.thinned[hundredths+1]
	}
	at := min(max(p, 0), 1) * hundredths
	i := min(int(at+1e-9), hundredths-1)
	return t.thinned[i] + max(at-float64(i), 0)*(t.thinned[i+1]-t.thinned[i])
}

// within is the time at a part of a bucket.
func (t *Times) within(i int, part float64) float64 {
	low, width := edge(i)
	at := float64(low)
	if width > 1 {
		at += part * float64(width)
	}
	return min(max(at, float64(t.min)), float64(t.max))
}

func bucket(us int64) int {
	shift := bits.Len64(uint64(us)) - fineBits - 1
	if shift <= 0 {
		return int(us)
	}
	return shift<<fineBits + int(us>>shift)
}

// edge is the first time of a bucket and how many there are in it.
func edge(i int) (low, width int64) {
	shift := i>>fineBits - 1
	if shift <= 0 {
		return int64(i), 1
	}
	return int64(i-shift<<fineBits) << shift, 1 << shift
}
