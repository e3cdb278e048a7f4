package sim

import "math"

// chance is a stream of random numbers: splitmix64. Each purpose has one of its own, so that
// what one policy draws more moves nothing of another purpose.
type chance uint64

// The purposes.
const (
	forPhases uint64 = iota + 1
	forServers
	forRouters
	forDelays
	forCallers
	forEstimates
	forRivals
)

// stream is the chance of one purpose and number.
func stream(seed, purpose, number uint64) chance {
	c := chance(seed)
	c = chance(c.next() + purpose)
	c = chance(c.next() + number)
	return chance(c.next())
}

func (c *chance) next() uint64 {
	*c += 0x9E3779B97F4A7C15
	x := uint64(*c)
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// part is in [0, 1).
func (c *chance) part() float64 { return float64(c.next()>>11) / (1 << 53) }

// within is a time in [0, n).
func (c *chance) within(n int64) int64 { return int64(c.part() * float64(n)) }

// normal has the mean 0 and the deviation 1.
func (c *chance) normal() float64 {
	return math.Sqrt(-2*math.Log(1-c.part())) * math.Cos(2*math.Pi*c.part())
}
