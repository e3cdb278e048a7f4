package window

import (
	"math/rand/v2"
	"testing"
)

func TestWindowSlides(t *testing.T) {
	w := New(8)
	w.Add(0, 1, 0)
	w.Add(3, 0, 2)
	w.Add(7, 4, 0)
	tests := []struct{ now, ok, failed int64 }{
		{7, 5, 2}, {8, 4, 2}, {10, 4, 2}, {11, 4, 0}, {14, 4, 0}, {15, 0, 0}, {1 << 60, 0, 0},
	}
	for _, tt := range tests {
		if ok, failed := w.Counts(tt.now); ok != tt.ok || failed != tt.failed {
			t.Errorf("at %d: %d ok, %d failed, want %d, %d", tt.now, ok, failed, tt.ok, tt.failed)
		}
	}
}

func TestLateEvidenceCountsWhenItHappened(t *testing.T) {
	w := New(8)
	w.Add(20, 1, 0)
	w.Add(15, 0, 1) // still inside
	w.Add(12, 0, 1) // too old
	if ok, failed := w.Counts(20); ok != 1 || failed != 1 {
		t.Errorf("%d ok, %d failed, want 1, 1", ok, failed)
	}
	if ok, failed := w.Counts(23); ok != 1 || failed != 0 {
		t.Errorf("when the late cell has left: %d ok, %d failed, want 1, 0", ok, failed)
	}
}

func TestWindowEdges(t *testing.T) {
	var zero Window
	zero.Add(5, 1, 1)
	if ok, failed := zero.Counts(5); ok != 0 || failed != 0 {
		t.Error("the zero window counted")
	}
	w := New(3) // shorter than its cells
	w.Add(-7, 1, 0)
	w.Add(1, 1<<32-1, 0)
	w.Add(1, 5, 0)
	if ok, _ := w.Counts(1); ok != 1<<32 {
		t.Errorf("%d ok, want the largest count and one", ok)
	}
	w.Clear()
	if ok, failed := w.Counts(1); ok != 0 || failed != 0 {
		t.Error("a cleared window counts")
	}
}

func TestSubtractTakesOutAPart(t *testing.T) {
	all, part, other := New(8), New(8), New(9)
	for at := range int64(6) {
		all.Add(at, 1, 1)
		if at > 2 {
			part.Add(at, 0, 1)
			other.Add(at, 0, 1)
		}
	}
	all.Add(8, 1, 0)
	all.Subtract(&other)
	if ok, failed := all.Counts(8); ok != 6 || failed != 5 {
		t.Errorf("another span: %d ok, %d failed, want 6, 5", ok, failed)
	}
	all.Subtract(&part)
	if ok, failed := all.Counts(8); ok != 6 || failed != 2 {
		t.Errorf("%d ok, %d failed, want 6, 2", ok, failed)
	}
	all.Subtract(&part)
	if _, failed := all.Counts(8); failed != 2 {
		t.Errorf("subtracted below nothing: %d failed", failed)
	}
}

func TestWindowDoesNotAllocate(t *testing.T) {
	w, now := New(5_000_000), int64(0)
	if n := testing.AllocsPerRun(100, func() { now += 90_000; w.Add(now, 1, 0); w.Counts(now) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// sums adds the cells up, as Counts would without a running sum.
func (w *Window) sums(now int64) (ok, failed int64) {
	for i := max(max(now, 0)/w.ring.width()-Cells+1, w.ring.head-Cells+1, 0); i <= w.ring.head; i++ {
		ok, failed = ok+int64(w.cells[i%Cells].ok), failed+int64(w.cells[i%Cells].failed)
	}
	return ok, failed
}

func TestTheRunningSumIsThatOfTheCells(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	w, part, now := New(40), New(40), int64(0)
	for range 20_000 {
		now += rnd.Int64N(4) * rnd.Int64N(4) * rnd.Int64N(4)
		at := now - rnd.Int64N(50)
		ok, failed := rnd.Uint32N(3), rnd.Uint32N(3)
		w.Add(at, ok, failed)
		if rnd.IntN(2) == 0 {
			part.Add(at, ok, failed)
		}
		switch rnd.IntN(200) {
		case 0:
			w.Clear()
		case 1:
			w.Subtract(&part)
		}
		gotOK, gotFailed := w.Counts(now)
		if ok, failed := w.sums(now); gotOK != ok || gotFailed != failed {
			t.Fatalf("at %d: %d ok, %d failed, want %d, %d", now, gotOK, gotFailed, ok, failed)
		}
	}
}
