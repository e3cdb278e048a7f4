package traffic

import (
	"math"
	"testing"
)

func TestATableDrawsByPart(t *testing.T) {
	for name, parts := range map[string][]float64{"one": {1}, "equal": {0.25, 0.25, 0.25, 0.25}, "uneven": {0.7, 0.2, 0.1, 0}, "zipf": zipf(1000, 1.2)} {
		tab, r, counts := newTable(parts), stream{9}, make([]float64, len(parts))
		const n = 1_000_000
		for range n {
			counts[tab.at(r.next())]++
		}
		for i, p := range parts {
			if math.Abs(counts[i]-n*p) > 5*math.Sqrt(n*p)+1e-9 {
				t.Errorf("%s: %d is drawn %.0f times, want %.0f", name, i, counts[i], n*p)
			}
		}
	}
}
