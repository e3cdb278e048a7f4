package route

import (
	"errors"
	"testing"
	"unsafe"
)

func TestARecordFits(t *testing.T) {
	if size := unsafe.Sizeof(Record{}); size > 256 {
		t.Errorf("%d bytes, want at most 256", size)
	}
}

func TestReplayRefusesWhatDecidesOtherwise(t *testing.T) {
	for _, d := range []Record{
		{}, {Strategy: strategies, StrategyVersion: 1}, {Strategy: P2C, StrategyVersion: P2C.Version() + 1},
	} {
		if _, err := Replay(&d); !errors.Is(err, ErrReplay) {
			t.Errorf("strategy %v version %d: %v", d.Strategy, d.StrategyVersion, err)
		}
	}
}

func TestReplayDecidesByTheInputsAlone(t *testing.T) {
	d := Record{Strategy: P2C, StrategyVersion: 1, Drawn: 2, Candidates: [2]Drawn{{Endpoint: "a"}, {Endpoint: "b"}}}
	d.Candidates[0].Time, d.Candidates[1].Time = 2, 1
	for _, c := range []struct {
		name string
		time float64 // of b
		tie  uint32
		want string
	}{
		{"the better one", 1, 0, "b"}, {"the first", 3, 1 << 31, "a"}, {"a tie, the first", 2, 1<<31 - 1, "a"}, {"a tie, the second", 2, 1 << 31, "b"},
	} {
		d.Candidates[1].Time, d.Tie = c.time, c.tie
		if got, err := Replay(&d); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}
