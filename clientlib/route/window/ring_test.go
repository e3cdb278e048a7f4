package window

import "testing"

func TestARingTurnsWithTime(t *testing.T) {
	tests := []struct {
		name             string
		at, place, fresh int64
		inside           bool
		from, to         int64
	}{
		{"the first cell is there already", 0, 0, 0, true, 0, 2},
		{"it lasts its width", 1, 0, 0, true, 0, 2},
		{"the next one is fresh", 2, 1, 1, true, 2, 4},
		{"all between are", 9, 4, 3, true, 8, 10},
		{"what came late lies where it happened", 3, 1, 0, true, 8, 10},
		{"no more are fresh than there are", 1000, 4, 8, true, 1000, 1002},
		{"the oldest cell", 986, 5, 0, true, 1000, 1002},
		{"older than the window", 985, 4, 0, false, 1000, 1002},
		{"before the clock's base", -5, 0, 0, false, 1000, 1002},
	}
	r := NewRing(16)
	for _, tt := range tests {
		place, fresh, inside := r.Turn(tt.at)
		from, to := r.Newest()
		if place != tt.place || fresh != tt.fresh || inside != tt.inside || from != tt.from || to != tt.to {
			t.Errorf("%s: place %d, %d fresh, inside %v, from %d to %d", tt.name, place, fresh, inside, from, to)
		}
	}
	if r.Span() != 16 {
		t.Errorf("span %d, want 16", r.Span())
	}
}

func TestARingWithoutSpanHasNoCells(t *testing.T) {
	for _, r := range []Ring{{}, NewRing(-1)} {
		if _, fresh, inside := r.Turn(5); fresh != 0 || inside {
			t.Errorf("a cell of a span of %d", r.Span())
		}
		if from, to := r.Newest(); from > 0 || to < 1<<62 {
			t.Errorf("span %d bounds time from %d to %d", r.Span(), from, to)
		}
	}
}
