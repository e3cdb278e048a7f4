package measure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Unit is what a figure is of.
type Unit uint8

// The units. Values are of the first named of each.
const (
	Plain    Unit = iota
	Count         // of calls
	Time          // µs; written as ms, s, us, m
	Fraction      // 0 to 1; written as %
	Rate          // a second
	USD
)

// Text is a value for people, with its unit.
func (u Unit) Text(v float64) string {
	if text, ok := unusual(v); ok {
		return text
	}
	size, suffix := u.scale(v)
	return u.prefix() + fixed(v/size, u.decimals(v/size)) + suffix
}

// With is a mean with half of its interval, if there is one.
func (u Unit) With(mean, half float64) string {
	if _, strange := unusual(mean); strange || math.IsNaN(half) || math.IsInf(half, 0) || half == 0 {
		return u.Text(mean)
	}
	size, suffix := u.scale(mean)
	decimals := u.decimals(mean / size)
	return u.prefix() + fixed(mean/size, decimals) + " ± " + fixed(half/size, decimals) + suffix
}

// Short is a round value without zeros after the point, for a scale.
func (u Unit) Short(v float64) string {
	size, suffix := u.scale(v)
	text := strconv.FormatFloat(v/size, 'f', 6, 64)
	return u.prefix() + strings.TrimRight(strings.TrimRight(text, "0"), ".") + suffix
}

func unusual(v float64) (text string, ok bool) {
	switch {
	case math.IsNaN(v):
		return "-", true
	case math.IsInf(v, 0):
		return "never", true
	}
	return "", false
}

func (u Unit) prefix() string {
	if u == USD {
		return "$"
	}
	return ""
}

// scale is how much of the unit the one is that a value is written in.
func (u Unit) scale(v float64) (size float64, suffix string) {
	switch {
	case u == Fraction:
		return 0.01, " %"
	case u == Rate:
		return 1, "/s"
	case u != Time:
		return 1, ""
	case v > 0 && v < 1_000:
		return 1, " us"
	case v > 0 && v < 999_500:
		return 1_000, " ms"
	}
	return 1_000_000, " s"
}

// decimals leave three figures that matter; of parts two places, and of counts none.
func (u Unit) decimals(v float64) int {
	if v == 0 || u == Count && v == math.Trunc(v) {
		return 0
	}
	places := max(2-int(math.Floor(math.Log10(math.Abs(v)*1.0005))), 0)
	switch u {
	case Fraction:
		return min(places, 2)
	case Count:
		return min(places, 1)
	}
	return min(places, 9)
}

func fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

// suffixes are how values are written, and how many of the unit's they are.
var suffixes = []struct {
	text string
	unit Unit
	size float64
}{
	{"us", Time, 1}, {"µs", Time, 1}, {"ms", Time, 1e3}, {"s", Time, 1e6}, {"m", Time, 60e6},
	{"%", Fraction, 0.01}, {"USD", USD, 1}, {"$", USD, 1}, {"/s", Rate, 1},
}

// value reads a number and its unit.
func value(text string) (float64, Unit, error) {
	number := strings.TrimSpace(text)
	if dollars, ok := strings.CutPrefix(number, "$"); ok {
		number = dollars + "$"
	}
	for _, s := range suffixes {
		digits, ok := strings.CutSuffix(number, s.text)
		if !ok {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64); err == nil && !math.IsNaN(v) {
			return v * s.size, s.unit, nil
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) {
		return 0, Plain, fmt.Errorf("%q is no value: want a number with its unit, as in 2s, 800ms, 0.2%% or $1.50", strings.TrimSpace(text))
	}
	return v, Plain, nil
}

// takes tells whether a value of another unit can be compared with one of this: plain numbers
// with counts, rates, fractions and money.
func (u Unit) takes(other Unit) bool {
	return u == other || other == Plain && u != Time || u == Plain && other == Fraction
}

// example is how one is written.
func (u Unit) example() string {
	return [...]string{Plain: "0.9", Count: "10", Time: "800ms or 2s", Fraction: "0.2%", Rate: "100/s", USD: "$1.50"}[u]
}

// nearest asks whether another name was meant, or else says which there are.
func nearest(name string, known []string) string {
	best, least := "", 3+len(name)/6
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf(": did you mean %s?", best)
	}
	if len(known) == 0 {
		return ": there are none"
	}
	return ": there are " + strings.Join(known, ", ")
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := corner
			if a[i] != b[j] {
				d = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// Unknown is the error of a name that is none of those known, with the one that may have been
// meant.
func Unknown(noun, name string, known []string) error {
	return fmt.Errorf("no %s %q%s", noun, name, nearest(name, known))
}
