package window

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// The vectors hold every language to the same bits.
func TestDecayVectors(t *testing.T) {
	src, err := os.ReadFile("../../../test/vectors/decay.txt")
	if err != nil {
		t.Fatal(err)
	}
	table, cases, ok := strings.Cut(string(src), "\ncases: age half decay\n")
	_, table, found := strings.Cut(table, "\ntable\n")
	if !ok || !found {
		t.Fatal("no table or no cases")
	}
	rows := 0
	for line := range strings.Lines(strings.TrimSpace(table)) {
		var i int
		var want float64
		if _, err := fmt.Sscan(line, &i, &want); err != nil || i != rows {
			t.Fatalf("%q: row %d, %v", line, i, err)
		}
		if decayTable[i] != want {
			t.Errorf("T[%d] = %v, want %v", i, decayTable[i], want)
		}
		rows++
	}
	if rows != len(decayTable) {
		t.Errorf("%d rows", rows)
	}
	for line := range strings.Lines(strings.TrimSpace(cases)) {
		var age, half int64
		var want float64
		if _, err := fmt.Sscan(line, &age, &half, &want); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if got := Decay(age, half); got != want {
			t.Errorf("Decay(%d, %d) = %v, want %v", age, half, got, want)
		}
	}
}

func TestDecayTableIsPowersOfTwo(t *testing.T) {
	for i, v := range decayTable {
		if want := math.Exp2(-float64(i) / 256); math.Abs(v-want) > 1e-15 {
			t.Errorf("T[%d] = %v, want about %v", i, v, want)
		}
	}
}

func TestDecayNeverRises(t *testing.T) {
	last := 1.0
	for age := int64(-10); age < 50_000; age++ {
		d := Decay(age, 1234)
		if d > last || d < 0 {
			t.Fatalf("Decay(%d) = %v after %v", age, d, last)
		}
		last = d
	}
	if last != 0 {
		t.Errorf("40 half-lives leave %v", last)
	}
}
