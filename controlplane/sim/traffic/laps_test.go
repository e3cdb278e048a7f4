package traffic

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestAWindowIsPlayedFromItsBeginning(t *testing.T) {
	tr := azure("2023-11-16 18:00:00,1,1", "2023-11-16 18:00:10,2,1", "2023-11-16 18:00:11,3,1", "2023-11-16 18:00:20,4,1", "2023-11-16 18:00:30,5,1")
	tr.Window = Window{From: 9_000_000, Until: 30_000_000, Shift: 5_000_000, Speed: 2}
	all := play(t, tr, 1, everything)
	if at := times(all); !slices.Equal(at, []int64{5_500_000, 6_000_000, 10_500_000}) || all[0].Input != 2 {
		t.Errorf("at %v", at)
	}
	s, err := tr.Stats()
	if err != nil || s.Count != 3 || s.Span != 21_000_000 || s.Input != 3 || s.Output != 1 || s.Rate() != 3.0/21 {
		t.Errorf("%+v, %v", s, err)
	}
	tr.Window = Window{From: 31_000_000}
	if err := failure(tr); err == nil || !strings.Contains(err.Error(), "no rows from 31s") || !strings.Contains(err.Error(), "30s") {
		t.Errorf("%v", err)
	}
	if _, err := tr.Stats(); err == nil {
		t.Error("stats of no rows")
	}
}

func TestALoopBeginsWhenTheNextRowWouldHaveCome(t *testing.T) {
	tr := azure("2023-11-16 18:00:00,1,1", "2023-11-16 18:00:02,2,1", "2023-11-16 18:00:06,3,1")
	tr.Window.Loop = true
	if at := times(play(t, tr, 1, 7)); !slices.Equal(at, []int64{0, 2e6, 6e6, 9e6, 11e6, 15e6, 18e6}) {
		t.Errorf("at %v", at)
	}
	tr.Window.Until = 5_000_000
	if at := times(play(t, tr, 1, 5)); !slices.Equal(at, []int64{0, 2e6, 5e6, 7e6, 10e6}) {
		t.Errorf("a window that is cut: at %v", at)
	}
	tr.Window.Until, tr.Window.Loop = 0, false
	if all := play(t, tr, 1, everything); len(all) != 3 {
		t.Errorf("%d arrivals without a loop", len(all))
	}
}

func TestALoopOfASingleTimeGoesOnByTheSecond(t *testing.T) {
	tr := azure("2023-11-16 18:00:00,1,1", "2023-11-16 18:00:00,2,1")
	tr.Window.Loop = true
	if at := times(play(t, tr, 1, 5)); !slices.Equal(at, []int64{0, 0, 1e6, 1e6, 2e6}) {
		t.Errorf("at %v", at)
	}
}

func TestAnotherLapHasOtherPromptsBesideTheCommon(t *testing.T) {
	var rows []string
	for i := range 40 {
		rows = append(rows, fmt.Sprintf(`{"timestamp": %d, "input_length": 1024, "output_length": 5, "hash_ids": [0, %d]}`, i, 1+i))
	}
	tr := mooncake(rows...)
	tr.Window.Loop = true
	all := play(t, tr, 1, 80)
	for i := range 40 {
		a, b := all[i], all[40+i]
		if a.Blocks[0] != b.Blocks[0] || a.Blocks[1] == b.Blocks[1] || a.Key == b.Key || a.Chance == b.Chance {
			t.Fatalf("%+v and a lap later %+v", a, b)
		}
	}
}

func TestSpeedGivesTheRateThatWasAskedFor(t *testing.T) {
	tr := shipped("azure-conversation.csv.gz", "azure")
	s, err := tr.Stats()
	if err != nil {
		t.Fatal(err)
	}
	tr.Window.Speed, tr.Window.Loop = 100/s.Rate(), true
	all := play(t, tr, 1, 4*int(s.Count))
	if got := float64(len(all)) / (float64(all[len(all)-1].At) / 1e6); math.Abs(got-100) > 0.1 {
		t.Errorf("%.2f requests a second, want 100", got)
	}
	if !slices.IsSorted(times(all)) {
		t.Error("not in order of time")
	}
}
