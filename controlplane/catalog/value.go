package catalog

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/pointsman/pointsman/clientlib/route/money"
)

// These read an attribute into dst; where somebody asks, they tell whether it was there
// and right.

// text reads text that is not empty.
func (b *block) text(name string, dst *string) bool {
	v, ok := b.value(name)
	if !ok {
		return false
	}
	s, ok := b.asText(name, v)
	if !ok {
		return false
	}
	if s == "" {
		b.wrong(name, "leave it out instead", "is empty")
		return false
	}
	*dst = s
	return true
}

func (b *block) asText(name string, v cty.Value) (string, bool) {
	if v.Type() == cty.Number && !v.IsNull() && !b.writable(name, v.AsBigFloat()) {
		return "", false
	}
	s, err := convert.Convert(v, cty.String)
	if err != nil || s.IsNull() {
		b.wrong(name, "text is written in quotes", "must be text, not %s", describeValue(v))
		return "", false
	}
	return s.AsString(), true
}

// choice reads one of some words.
func (b *block) choice(name string, words []string, dst *string) bool {
	var s string
	if !b.text(name, &s) {
		return false
	}
	if !slices.Contains(words, s) {
		b.wrong(name, meant(s, words), "is %s", quote(s))
		return false
	}
	*dst = s
	return true
}

// oneOf reads one of the names of an enum's values.
func oneOf[E any](b *block, name string, values map[string]E, dst *E) bool {
	var s string
	if !b.choice(name, keys(values), &s) {
		return false
	}
	*dst = values[s]
	return true
}

func (b *block) flag(name string, dst *bool) bool {
	v, ok := b.value(name)
	if !ok {
		return false
	}
	v, err := convert.Convert(v, cty.Bool)
	if err != nil {
		b.wrong(name, "without quotes", "must be true or false")
		return false
	}
	*dst = v.True()
	return true
}

func (b *block) number(name string) (*big.Float, bool) {
	v, ok := b.value(name)
	if !ok {
		return nil, false
	}
	n, err := convert.Convert(v, cty.Number)
	if err != nil {
		b.wrong(name, "a number is written without quotes", "must be a number, not %s", describeValue(v))
		return nil, false
	}
	return n.AsBigFloat(), b.writable(name, n.AsBigFloat())
}

func (b *block) writable(name string, n *big.Float) bool {
	if digits(n) <= maxDigits {
		return true
	}
	b.wrong(name, fmt.Sprintf("up to %d digits", maxDigits), "is a number too long to write")
	return false
}

// maxDigits bounds the numbers of a catalog, written out.
const maxDigits = 1000

// whole reads a whole number from lo to hi.
func (b *block) whole(name string, lo, hi int64, dst *int64) bool {
	n, ok := b.number(name)
	if !ok {
		return false
	}
	whole, accuracy := n.Int64()
	if accuracy != big.Exact || whole < lo || whole > hi {
		b.wrong(name, fmt.Sprintf("a whole number from %d to %d", lo, hi), "is %s", quoteNumber(n))
		return false
	}
	*dst = whole
	return true
}

func quoteNumber(n *big.Float) string { return n.Text('g', 20) }

// limit reads a whole number, above zero, that may be absent.
func (b *block) limit(name string, dst **int64) { b.optional(name, 1, maxCount, dst) }

// optional reads a whole number from lo to hi that may be absent.
func (b *block) optional(name string, lo, hi int64, dst **int64) {
	var n int64
	if b.whole(name, lo, hi, &n) {
		*dst = &n
	}
}

// ratio reads a number from lo to hi.
func (b *block) ratio(name string, lo, hi float64, dst *float64) bool {
	n, ok := b.number(name)
	if !ok {
		return false
	}
	f, _ := n.Float64()
	if !(f >= lo && f <= hi) {
		b.wrong(name, fmt.Sprintf("a number from %v to %v", lo, hi), "is %s", quoteNumber(n))
		return false
	}
	*dst = f
	return true
}

// duration reads a time from lo to hi, such as "1.5s", into microseconds.
func (b *block) duration(name string, lo, hi time.Duration, dst *int64) bool {
	var s string
	if !b.text(name, &s) {
		return false
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		b.wrong(name, `a number with ms, s, m or h: "1.5s"`, "is %s, which is no duration", quote(s))
	case d < lo || d > hi:
		b.wrong(name, fmt.Sprintf("from %s to %s", short(lo), short(hi)), "is %s", quote(s))
	case d%time.Microsecond != 0:
		b.wrong(name, "whole microseconds", "is %s", quote(s))
	default:
		*dst = d.Microseconds()
		return true
	}
	return false
}

// short writes a duration without the zeros of its end: 2m, not 2m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// date reads a day, YYYY-MM-DD.
func (b *block) date(name string, dst *string) {
	var s string
	if !b.text(name, &s) {
		return
	}
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		b.wrong(name, "YYYY-MM-DD", "is %s, which is no date", quote(s))
		return
	}
	*dst = s
}

// price reads USD per million tokens into pico-dollars per token.
func (b *block) price(name string, dst *int64) bool {
	var s string
	if !b.text(name, &s) {
		return false
	}
	p, err := money.ParsePrice(s)
	if err != nil || p > maxPrice {
		b.wrong(name, `USD per million tokens, an exact decimal of up to 6 places: "2.50"`, "is %s%s", quote(s), because(err))
		return false
	}
	*dst = int64(p)
	return true
}

// usd reads an amount of USD into nano-dollars.
func (b *block) usd(name string, dst *int64) bool {
	var s string
	if !b.text(name, &s) {
		return false
	}
	n, err := money.ParseUSD(s)
	if err != nil || n > maxUSD {
		b.wrong(name, `USD up to a billion, an exact decimal of up to 9 places: "250.00"`, "is %s%s", quote(s), because(err))
		return false
	}
	*dst = int64(n)
	return true
}

// because is the cause inside an error; the text around it would repeat the value.
func because(err error) string {
	if cause := errors.Unwrap(err); cause != nil {
		return ": " + cause.Error()
	}
	return ""
}

// The widest ranges that make sense; attributes with narrower ones say so themselves.
const (
	maxCount  = 1_000_000_000_000 // tokens, requests, slots
	maxPrice  = 1_000_000_000_000 // $1,000,000 per million tokens
	maxWeight = 1_000_000_000
	maxUSD    = 1_000_000_000_000_000_000 // $1,000,000,000
)
