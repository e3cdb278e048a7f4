package route_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/test/story"
)

// Each line of the file: arguments, "=", the answer.
func TestDrawsAreThoseOfTheVectors(t *testing.T) {
	story.Table(t, vectors+"draw.txt", func(question string) string { return answer(strings.Fields(question)) })
}

func answer(q []string) string {
	n := make([]uint32, len(q))
	for i, v := range q[1:] {
		u, _ := strconv.ParseUint(v, 0, 32)
		n[i+1] = uint32(u)
	}
	switch q[0] {
	case "draw":
		return strconv.FormatUint(uint64(route.Draw(n[1], n[2])), 10)
	case "index":
		return strconv.Itoa(route.Index(n[1], int(n[2])))
	}
	return columns(q[1:])
}

// columns shows an alias table: own index, coin, alias, of each column.
func columns(shares []string) string {
	var s []float64
	for _, v := range shares {
		f, _ := strconv.ParseFloat(v, 64)
		s = append(s, f)
	}
	var a route.Alias
	a.Build(s, nil)
	var out []string
	for i := range a.Len() {
		own, coin, alias := a.Column(i)
		out = append(out, strconv.Itoa(own)+":"+strconv.FormatUint(uint64(coin), 10)+":"+strconv.Itoa(alias))
	}
	return strings.Join(out, " ")
}

func TestLowbias32IsTheKnownOne(t *testing.T) {
	// Draw 0 is lowbias32 of the seed: 0 stays 0, and 1 is a value that its author gives.
	if got := route.Draw(0, 0); got != 0 {
		t.Errorf("draw 0 of seed 0: %d", got)
	}
	if route.Draw(1, 1) != route.Draw(1+0x9E3779B9, 0) {
		t.Error("draw 1 is not draw 0 of the next seed")
	}
}

func TestAliasKeepsToTheShares(t *testing.T) {
	shares := []float64{5, 0, 1, 0.25, 93.75}
	var a route.Alias
	a.Build(shares, nil)
	counts := make([]int, len(shares))
	const n = 200_000
	for seed := range uint32(n) {
		counts[a.Pick(route.Draw(seed, 0), route.Draw(seed, 1))]++
	}
	for i, share := range shares {
		want := share / 100 * n
		if d := float64(counts[i]) - want; d*d > 25*want { // five standard deviations
			t.Errorf("share %g: drawn %d times of %d", share, counts[i], n)
		}
	}
}

func TestAliasOfNothing(t *testing.T) {
	var a route.Alias
	a.Build([]float64{0, -1}, nil)
	if a.Len() != 0 {
		t.Errorf("%d can be drawn", a.Len())
	}
}
