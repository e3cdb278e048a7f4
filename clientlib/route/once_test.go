package route

import "testing"

func TestAReportCountsAtMostOnce(t *testing.T) {
	steps := []struct {
		incarnation, sequence uint64
		fresh, latest         bool
	}{
		{3, 10, true, true}, {3, 10, false, false}, {3, 8, true, false}, {3, 8, false, false},
		{3, 12, true, true}, {3, 11, true, false}, {3, 10, false, false}, {2, 99, false, false},
		{3, 75, true, true}, {3, 12, false, false}, {3, 11, false, false}, {3, 13, true, false},
		{3, 1 << 63, true, true}, {3, 75, false, false}, {3, 1<<63 - 63, true, false}, {3, 1<<63 - 64, false, false},
		{4, 0, true, true}, {4, 0, false, false}, {4, 1, true, true},
	}
	var o Once
	for i, s := range steps {
		if fresh, latest := o.Take(s.incarnation, s.sequence); fresh != s.fresh || latest != s.latest {
			t.Fatalf("step %d, %d/%d: fresh %v, latest %v, want %v, %v", i, s.incarnation, s.sequence, fresh, latest, s.fresh, s.latest)
		}
	}
}
