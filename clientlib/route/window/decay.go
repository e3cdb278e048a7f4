// Package window holds the arithmetic of recent evidence: decay, sliding counts and
// histograms. It keeps no clock; times are microseconds, given by the caller.
package window

import (
	"math"
	"math/bits"
)

// Decay is 2^(−age/half) in steps of 1/256 of a half-life, the same in every language:
// 1 for no age or less, 0 from 40 half-lives on.
func Decay(age, half int64) float64 {
	if age <= 0 {
		return 1
	}
	if half <= 0 || age/half >= 40 {
		return 0
	}
	hi, lo := bits.Mul64(256, uint64(age))
	q, _ := bits.Div64(hi, lo, uint64(half))
	return decayTable[q%256] * math.Float64frombits((1023-q/256)<<52) // 2^−⌊q/256⌋, exactly
}
