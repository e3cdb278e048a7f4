package sim

import (
	"runtime"
	"testing"
)

// TestMemoryDoesNotGrowWithTheLengthOfARun: ten times as long, the same peak.
func TestMemoryDoesNotGrowWithTheLengthOfARun(t *testing.T) {
	peak := func(length int64) (most uint64) {
		s := small(6, 10, 15)
		s.Duration = length
		look := length / 10
		_, err := Play(s, Policy{}, 1, func(at int64) bool {
			if at >= look {
				look += length / 10
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return most
	}
	short, long := peak(200*second), peak(2000*second)
	t.Logf("%d KiB, %d KiB", short>>10, long>>10)
	if long > short+short/10 {
		t.Errorf("the peak of a long run is %d KiB, of a short one %d", long>>10, short>>10)
	}
}
