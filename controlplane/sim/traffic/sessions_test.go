package traffic

import (
	"math"
	"slices"
	"testing"
)

func TestASessionsTurnBeginsWithAllThatWasSaid(t *testing.T) {
	for name, keys := range map[string]Keys{"alone": {}, "with keys": {Count: 3, Tokens: 1100}} {
		t.Run(name, func(t *testing.T) {
			g := chat(1)
			g.Crowd.First, g.Keys, g.Sessions = 4, keys, Sessions{Turns: 5, Max: 30_000}
			all := play(t, g, 1, 50_000)
			latest := map[string]*Arrival{} // of each session
			for i := range all {
				if before := latest[all[i].Key]; before != nil {
					goesOn(t, before, &all[i])
				}
				latest[all[i].Key] = &all[i]
			}
			mean := float64(len(all)) / float64(len(latest))
			if mean < 4.2 || mean > 5.2 { // some end at their maximum, some with the run
				t.Errorf("%.2f turns a session, want about 5", mean)
			}
			if n := interleaved(all); n < len(all)/2 {
				t.Errorf("%d of %d turns follow a turn of another session of their client", n, len(all))
			}
			beginnings := map[uint64]int{}
			for _, a := range latest {
				beginnings[a.Blocks[0]]++
			}
			if n := len(beginnings); keys.Count > 0 && n != keys.Count || keys.Count == 0 && n < len(latest)/2 {
				t.Errorf("%d beginnings of %d sessions with %d keys", n, len(latest), keys.Count)
			}
			nearStats(t, g, all)
		})
	}
}

// goesOn wants a turn to be of the same session as the one before it.
func goesOn(t *testing.T, before, a *Arrival) {
	t.Helper()
	said := before.Input + before.Output
	if a.Client != before.Client || a.Input <= said {
		t.Fatalf("client %d asks %d tokens after client %d's %d and %d", a.Client, a.Input, before.Client, before.Input, before.Output)
	}
	whole := before.Input / BlockTokens
	if !slices.Equal(a.Blocks[:whole], before.Blocks[:whole]) {
		t.Fatal("the beginning is another")
	}
	if before.Input%BlockTokens != 0 && a.Blocks[whole] == before.Blocks[whole] {
		t.Fatal("a block that was full in part is the same when it is full")
	}
	if said >= 30_000 {
		t.Fatal("a session went on beyond its maximum")
	}
}

func nearStats(t *testing.T, g *Generator, all []Arrival) {
	t.Helper()
	s, err := g.Stats()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i := range all {
		sum += float64(all[i].Input)
	}
	if got := sum / float64(len(all)); math.Abs(got/s.Input-1) > 0.05 {
		t.Errorf("mean input %.0f, Stats says %.0f", got, s.Input)
	}
}

// interleaved counts the turns whose client had another session's turn just before.
func interleaved(all []Arrival) (n int) {
	last := map[int32]string{}
	for _, a := range all {
		if was, ok := last[a.Client]; ok && was != a.Key {
			n++
		}
		last[a.Client] = a.Key
	}
	return n
}
