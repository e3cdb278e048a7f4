package sim

import (
	"slices"
	"testing"
)

func TestAgendaKeepsTimeThenKindThenNumberWhateverMoves(t *testing.T) {
	var a agenda
	c := stream(1, 2, 3)
	due := map[turn]int64{}
	for range 200_000 {
		k, n, at := kind(c.within(int64(kinds))), int32(c.within(50)), c.within(1000)
		if c.within(4) == 0 {
			at = forever
		}
		a.set(k, n, at)
		due[turn{rank: uint64(k)<<32 | uint64(n)}] = at
		if c.within(3) == 0 {
			check(t, &a, due)
		}
		if got := a.due(k, n); got != at {
			t.Fatalf("kind %d, %d: due %d, want %d", k, n, got, at)
		}
	}
	var all []turn
	for a.first().at < forever {
		f := a.first()
		all = append(all, f)
		a.set(f.kind(), f.number(), forever)
	}
	if !slices.IsSortedFunc(all, func(x, y turn) int {
		if x.before(y) {
			return -1
		}
		return 1
	}) {
		t.Error("out of order")
	}
}

func check(t *testing.T, a *agenda, due map[turn]int64) {
	t.Helper()
	f := a.first()
	for k, at := range due {
		if o := (turn{at, k.rank}); at < forever && o.before(f) {
			t.Fatalf("first is %v, %v is before it", f, o)
		}
	}
}
