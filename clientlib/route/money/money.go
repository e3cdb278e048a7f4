// Package money counts what requests cost, exactly, in integers.
package money

import (
	"math"
	"math/bits"
)

// Nano is an amount in nano-dollars.
type Nano int64

// Pico is a price in pico-dollars per token: USD per million tokens × 10^6.
type Pico int64

// Price is what a model's tokens cost.
type Price struct {
	Input, CachedInput, CacheWrite, Output Pico
	Above                                  []Above // by Tokens, ascending
}

// Above replaces the price of a whole request whose input is longer than Tokens.
type Above struct {
	Tokens                                 int64
	Input, CachedInput, CacheWrite, Output Pico
}

// Usage is what one request used, in tokens. Cached and Written are parts of Input.
type Usage struct {
	Input, Cached, Written, Output int64
}

// Cost is the price of a whole request, rounded up once, to a nano-dollar. What does not
// fit is the largest amount; counts and prices below zero are zero.
func (p *Price) Cost(u Usage) Nano {
	if u.Cached|u.Written == 0 && len(p.Above) == 0 && uint64(u.Input|u.Output) < half && uint64(p.Input|p.Output) < half {
		return (Nano(u.Input)*Nano(p.Input) + Nano(u.Output)*Nano(p.Output) + 999) / 1000
	}
	return p.whole(u)
}

const half = 1 << 31 // a sum of two products of what is below fits

// whole is Cost of whatever was used.
func (p *Price) whole(u Usage) Nano {
	in, reuse, write, out := p.At(u.Input)
	input, cached, written := max(u.Input, 0), max(u.Cached, 0), max(u.Written, 0)
	cached = min(cached, input)
	written = min(written, input-cached)
	var sum wide
	sum.add(input-cached-written, in)
	sum.add(cached, reuse)
	sum.add(written, write)
	sum.add(u.Output, out)
	return sum.nano()
}

// At is the price of a token of a request with so much input: plain, read from a cache,
// written to one, and answered.
func (p *Price) At(input int64) (in, reuse, write, out Pico) {
	in, reuse, write, out = p.Input, p.CachedInput, p.CacheWrite, p.Output
	for i := range p.Above {
		if a := &p.Above[i]; input > a.Tokens {
			in, reuse, write, out = a.Input, a.CachedInput, a.CacheWrite, a.Output
		}
	}
	return in, reuse, write, out
}

// Plus adds; a sum that does not fit is the largest or smallest amount.
func (n Nano) Plus(m Nano) Nano {
	s := n + m
	if (n < 0) != (m < 0) || (s < 0) == (n < 0) {
		return s
	}
	if n < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// wide is a sum of pico-dollars in 128 bits: four products of 63 bits each fit.
type wide struct{ hi, lo uint64 }

func (w *wide) add(tokens int64, price Pico) {
	hi, lo := bits.Mul64(uint64(max(tokens, 0)), uint64(max(price, 0)))
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi += hi + carry
}

// nano divides by a thousand, up.
func (w *wide) nano() Nano {
	if w.hi >= 1000 {
		return math.MaxInt64
	}
	quotient, rest := bits.Div64(w.hi, w.lo, 1000)
	if rest > 0 && quotient < math.MaxUint64 {
		quotient++
	}
	return Nano(min(quotient, math.MaxInt64))
}
