package route_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/test/story"
)

func TestHashesAreThoseOfTheVectors(t *testing.T) {
	story.Table(t, vectors+"hash.txt", func(question string) string {
		q := strings.Fields(question)
		return hashed(t, q[0], q[1:])
	})
}

func hashed(t *testing.T, command string, args []string) string {
	switch command {
	case "key":
		return fmt.Sprint(route.Key(named(args)...))
	case "affinity":
		n := named(args)
		return fmt.Sprint(route.AffinityKey(n[0], n[1], n[2]))
	case "rehash":
		return fmt.Sprint(route.Rehash(uint32(integer(t, args[0])), uint32(integer(t, args[1]))))
	case "columns":
		return fmt.Sprint(route.NewMaglev(homes(int(integer(t, args[0])), 1)).Len())
	case "maglev":
		return maglev(t, args)
	case "many":
		return many(t, args)
	}
	return fmt.Sprint(route.Stride(int(integer(t, args[0]))))
}

func integer(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// named reads names: "" is empty, a*5 is aaaaa.
func named(args []string) (names []string) {
	for _, arg := range args {
		letter, times, many := strings.Cut(arg, "*")
		n, _ := strconv.Atoi(times)
		switch {
		case arg == `""`:
			arg = ""
		case many:
			arg = strings.Repeat(letter, n)
		}
		names = append(names, arg)
	}
	return names
}

// homes are e0, e1, … with shares that come again and again.
func homes(n int, shares ...int64) (all []route.Home) {
	for i := range n {
		all = append(all, route.Home{Place: int32(i), Hash: route.Key("e" + strconv.Itoa(i)), Share: shares[i%len(shares)]})
	}
	return all
}

// columnsIn are the places in a table, in order: hash ⌈i·2^32 ÷ M⌉ finds column i.
func columnsIn(m *route.Maglev) (places []int32) {
	n := uint64(m.Len())
	for i := range n {
		places = append(places, m.At(uint32((i<<32+n-1)/n)))
	}
	return places
}

func maglev(t *testing.T, args []string) string {
	var all []route.Home
	for i, arg := range args {
		name, share, _ := strings.Cut(arg, ":")
		all = append(all, route.Home{Place: int32(i), Hash: route.Key(name), Share: integer(t, share)})
	}
	m := route.NewMaglev(all)
	out := strconv.Itoa(m.Len())
	for i, place := range columnsIn(m) {
		if i == 0 {
			out += " "
		}
		out += strconv.Itoa(int(place))
	}
	return out
}

func many(t *testing.T, args []string) string {
	var shares []int64
	for _, arg := range args[1:] {
		shares = append(shares, integer(t, arg))
	}
	m := route.NewMaglev(homes(int(integer(t, args[0])), shares...))
	return fmt.Sprint(m.Len(), " ", route.HashWords(columnsIn(m)))
}

func TestNamesAreNotJoined(t *testing.T) {
	seen := map[uint32][]string{}
	for _, names := range [][]string{{"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}, {"", "abc"}, {"abc\x00"}, {"a", "b", "c"}} {
		key := route.Key(names...)
		if seen[key] != nil {
			t.Errorf("%q and %q have one key", names, seen[key])
		}
		seen[key] = names
	}
}

func TestHashingAllocatesNothing(t *testing.T) {
	prompt := strings.Repeat("once upon a time ", 1000)
	m := route.NewMaglev(homes(16, 100))
	if n := testing.AllocsPerRun(100, func() { m.At(route.Rehash(route.AffinityKey("acme", "chat", prompt), 7)) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

var spreads = map[string][]int64{
	"equal":       {100},
	"mixed":       {10, 110, 210, 310, 410},
	"one is half": {10_000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9_991},
}

func TestMaglevKeepsToTheShares(t *testing.T) {
	for name, shares := range spreads {
		for _, n := range []int{1, 2, 3, 10, 100, 1000} {
			all := homes(n, shares...)
			var sum int64
			for _, h := range all {
				sum += h.Share
			}
			m := route.NewMaglev(all)
			counts := make([]int, n)
			for _, place := range columnsIn(m) {
				counts[place]++
			}
			for i, h := range all {
				want := float64(h.Share) / float64(sum)
				if got := float64(counts[i]) / float64(m.Len()); got-want > 0.02 || want-got > 0.02 {
					t.Errorf("%s, %d homes: %d has %.4f, want %.4f", name, n, i, got, want)
				}
			}
		}
	}
}

func TestOfEqualHomesNoneHasTwoPercentMoreThanItsPart(t *testing.T) {
	for _, n := range []int{3, 16, 17, 100, 1000} {
		m := route.NewMaglev(homes(n, 100))
		counts := make([]int, n)
		for _, place := range columnsIn(m) {
			counts[place]++
		}
		mean := float64(m.Len()) / float64(n)
		for i, c := range counts {
			if d := float64(c)/mean - 1; d > 0.02 || d < -0.02 {
				t.Errorf("%d homes: %d has %d columns, the mean is %.1f", n, i, c, mean)
			}
		}
	}
}

func TestWhoLeavesMovesLittleBesideItsOwn(t *testing.T) {
	for name, shares := range spreads {
		for _, n := range []int{3, 10, 16, 100, 1000} {
			all := homes(n, shares...)
			before := columnsIn(route.NewMaglev(all))
			for _, gone := range []int{0, n / 2, n - 1} {
				drained := append([]route.Home(nil), all...)
				drained[gone].Share = 0
				moved := 0
				for i, place := range columnsIn(route.NewMaglev(drained)) {
					if before[i] != int32(gone) && before[i] != place {
						moved++
					}
				}
				if part := float64(moved) / float64(len(before)); part > 0.06 {
					t.Errorf("%s, %d homes: without %d, %.3f of the hashes of others move", name, n, gone, part)
				}
			}
		}
	}
}

func TestShareZeroIsNeverFound(t *testing.T) {
	for _, place := range columnsIn(route.NewMaglev(homes(9, 100, 0, 1))) {
		if place%3 == 1 {
			t.Fatalf("hashes find %d", place)
		}
	}
}

func TestAbsurdSharesCountAsTheNearestThatDoNot(t *testing.T) {
	for _, c := range []struct{ absurd, as []int64 }{
		{[]int64{math.MaxInt64, 1}, []int64{1 << 40, 1}},
		{[]int64{math.MinInt64, 5, -1}, []int64{0, 5, 0}},
		{[]int64{-1}, []int64{0}},
	} {
		got, want := route.NewMaglev(homes(3, c.absurd...)), route.NewMaglev(homes(3, c.as...))
		if !slices.Equal(columnsIn(got), columnsIn(want)) {
			t.Errorf("%d is not as %d", c.absurd, c.as)
		}
	}
}

func TestOneShareOfAllButEverythingIsBuiltInTime(t *testing.T) {
	shares := make([]int64, 1024)
	for i := range shares {
		shares[i] = 1
	}
	shares[500] = 1 << 40
	own := 0
	m := route.NewMaglev(homes(1024, shares...))
	for _, place := range columnsIn(m) {
		if place == 500 {
			own++
		}
	}
	if own != m.Len() {
		t.Errorf("%d of %d columns", own, m.Len())
	}
}

func TestStrideComesByEveryMember(t *testing.T) {
	for n := 1; n <= 300; n++ {
		seen, at, stride := make([]bool, n), 0, route.Stride(n)
		for range n {
			if seen[at] {
				t.Fatalf("%d members, stride %d: %d twice in a round", n, stride, at)
			}
			seen[at] = true
			at = (at + stride) % n
		}
	}
}

func BenchmarkMaglev(b *testing.B) {
	for _, n := range []int{16, 128, 1024} {
		all := homes(n, 100)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				route.NewMaglev(all)
			}
		})
	}
}
